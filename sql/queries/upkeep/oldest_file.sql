-- the oldest file of a table whose rows may all go: kept long enough, and rolled up well before
with
rolled as (
  select
    cluster,
    epoch_ms(max(rolled_until_at)) - $margin_ms as until_ms
  from rollup_marks
  group by cluster
),

files as (
  select
    p.partition_value as cluster,
    s.max_value::timestamptz as last_at,
    f.record_count
  from __ducklake_metadata_lake.ducklake_data_file as f
  inner join __ducklake_metadata_lake.ducklake_table as t on f.table_id = t.table_id and t.end_snapshot is null
  inner join __ducklake_metadata_lake.ducklake_column as c on f.table_id = c.table_id and c.end_snapshot is null
  inner join __ducklake_metadata_lake.ducklake_file_column_stats as s
    on f.data_file_id = s.data_file_id and c.column_id = s.column_id
  inner join __ducklake_metadata_lake.ducklake_file_partition_value as p
    on f.data_file_id = p.data_file_id and p.partition_key_index = 0
  where t.table_name = $table_name and c.column_name = $column_name and f.end_snapshot is null
)

select
  f.cluster,
  epoch_us(f.last_at) as until_us,
  f.record_count
from files as f
inner join rolled as r on f.cluster = r.cluster
where epoch_ms(f.last_at) < least($until_ms, r.until_ms)
order by f.last_at asc
limit 1
