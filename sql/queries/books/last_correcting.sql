-- last_correcting: until which snapshot late usage was looked through, and whether the one after it is still there
with
last_key as (
  select split_part(commit_extra_info, '/', 3)::bigint as read_until
  from __ducklake_metadata_lake.ducklake_snapshot_changes
  where commit_extra_info like 'corrections/until/%'
  order by snapshot_id desc
  limit 1
)

select
  k.read_until,
  exists(
    select 1
    from __ducklake_metadata_lake.ducklake_snapshot as s
    where s.snapshot_id = k.read_until + 1
  ) as is_followed
from last_key as k
