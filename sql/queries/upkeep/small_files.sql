-- tables with enough files of one size in one partition to merge them; files with deleted rows are not merged
with
live as (
  select
    table_id,
    data_file_id,
    record_count,
    file_size_bytes
  from __ducklake_metadata_lake.ducklake_data_file
  where
    end_snapshot is null
    and file_size_bytes >= $lower
    and file_size_bytes < $upper
    and data_file_id not in (
      select data_file_id
      from __ducklake_metadata_lake.ducklake_delete_file
      where end_snapshot is null
    )
),

parts as (
  select
    data_file_id,
    string_agg(partition_value, '/' order by partition_key_index) as part
  from __ducklake_metadata_lake.ducklake_file_partition_value
  group by data_file_id
)

select
  t.table_name,
  count(*) as files,
  sum(l.record_count)::bigint as record_count,
  sum(l.file_size_bytes)::bigint as size_bytes
from live as l
inner join __ducklake_metadata_lake.ducklake_table as t on l.table_id = t.table_id and t.end_snapshot is null
left join parts as p on l.data_file_id = p.data_file_id
group by t.table_name, p.part
having count(*) >= $least
order by files desc, t.table_name asc
