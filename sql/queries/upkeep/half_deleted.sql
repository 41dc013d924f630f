-- tables with a file of which a third or more has been deleted
select distinct t.table_name
from __ducklake_metadata_lake.ducklake_delete_file as d
inner join __ducklake_metadata_lake.ducklake_data_file as f on d.data_file_id = f.data_file_id
inner join __ducklake_metadata_lake.ducklake_table as t on d.table_id = t.table_id and t.end_snapshot is null
where d.end_snapshot is null and f.end_snapshot is null and d.delete_count * 3 >= f.record_count
