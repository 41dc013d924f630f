-- What DuckLake notes of a column with its table's first rows, before there are any.
insert into __ducklake_metadata_lake.ducklake_table_column_stats (table_id, column_id, contains_null)
select
  c.table_id,
  c.column_id,
  false as contains_null
from __ducklake_metadata_lake.ducklake_column as c
where
  c.end_snapshot is null
  and c.table_id not in (select s.table_id from __ducklake_metadata_lake.ducklake_table_stats as s)
