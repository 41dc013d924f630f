-- the tables of the catalog that keep the rows of small batches
select
  t.table_name,
  i.table_name as inlined_name
from __ducklake_metadata_lake.ducklake_inlined_data_tables as i
inner join __ducklake_metadata_lake.ducklake_table as t on i.table_id = t.table_id and t.end_snapshot is null
