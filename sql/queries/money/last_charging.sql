-- last_charging: the key of the last commit of charges of all days that were due, and whether the snapshot after the one
-- that it had read is still there
with
last_key as (
  select commit_extra_info as commit_key
  from __ducklake_metadata_lake.ducklake_snapshot_changes
  where commit_extra_info like 'charges/until/%'
  order by snapshot_id desc
  limit 1
)

select
  k.commit_key,
  exists(
    select 1
    from __ducklake_metadata_lake.ducklake_snapshot as s
    where s.snapshot_id = split_part(k.commit_key, '/', 3)::bigint + 1
  ) as is_followed
from last_key as k
