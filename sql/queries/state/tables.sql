-- the rows of each table that are in files, and those files (rows deleted since are subtracted)
with
deleted as (
  select
    data_file_id,
    sum(delete_count) as deleted_rows
  from __ducklake_metadata_lake.ducklake_delete_file
  where end_snapshot is null
  group by data_file_id
)

select
  t.table_name,
  sum(f.record_count - coalesce(d.deleted_rows, 0))::bigint as row_count,
  count(*) as files,
  sum(f.file_size_bytes)::bigint as size_bytes
from __ducklake_metadata_lake.ducklake_data_file as f
inner join __ducklake_metadata_lake.ducklake_table as t on f.table_id = t.table_id and t.end_snapshot is null
left join deleted as d on f.data_file_id = d.data_file_id
where f.end_snapshot is null
group by t.table_name
