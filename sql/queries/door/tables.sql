-- Every table and view of the ledger by schema, and where a table's files lie below the data folder.
select
  s.schema_name,
  t.table_name as name,
  concat(s.path, t.path) as path
from __ducklake_metadata_lake.ducklake_table as t
inner join __ducklake_metadata_lake.ducklake_schema as s on t.schema_id = s.schema_id
where t.end_snapshot is null and s.end_snapshot is null
union all
select
  s.schema_name,
  v.view_name as name,
  null as path
from __ducklake_metadata_lake.ducklake_view as v
inner join __ducklake_metadata_lake.ducklake_schema as s on v.schema_id = s.schema_id
where v.end_snapshot is null and s.end_snapshot is null
