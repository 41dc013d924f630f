-- What DuckLake notes of a table with its first rows, before there are any.
insert into __ducklake_metadata_lake.ducklake_table_stats (table_id, record_count, next_row_id, file_size_bytes)
select
  t.table_id,
  0 as record_count,
  0 as next_row_id,
  0 as file_size_bytes
from __ducklake_metadata_lake.ducklake_table as t
where
  t.end_snapshot is null
  and t.table_id not in (select s.table_id from __ducklake_metadata_lake.ducklake_table_stats as s)
