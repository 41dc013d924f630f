-- every file that a snapshot names, below the data folder
with
files as (
  select
    table_id,
    path,
    path_is_relative,
    file_size_bytes
  from __ducklake_metadata_lake.ducklake_data_file
  union all
  select
    table_id,
    path,
    path_is_relative,
    file_size_bytes
  from __ducklake_metadata_lake.ducklake_delete_file
)

select distinct
  case when f.path_is_relative::boolean then s.path || t.path || f.path else f.path end as path,
  f.file_size_bytes
from files as f
inner join __ducklake_metadata_lake.ducklake_table as t on f.table_id = t.table_id
inner join __ducklake_metadata_lake.ducklake_schema as s on t.schema_id = s.schema_id
order by path
