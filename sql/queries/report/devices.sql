-- devices: for each workload with one of the given ids, how many devices it held in [$start_at, $end_at), how many of them
-- never computed, and the ends of the last rows of usage in which it did, and in which it held anything
with
by_device as (
  select
    cluster,
    workload_id,
    device_id,
    max(row_end_at) as last_held_at,
    max(row_end_at) filter (where computing_pms > stalled_pms) as last_computing_at
  from usage_hourly
  where
    row_start_at >= $start_at and row_start_at < $end_at
    and workload_id in (select unnest($ids))
    and held_pms > 0
  group by all
)

select
  cluster,
  workload_id,
  count(*) as devices,
  count(*) filter (where last_computing_at is null) as idle_devices,
  epoch_ms(max(last_computing_at)) as last_computing_ms,
  epoch_ms(max(last_held_at)) as last_held_ms
from by_device
group by all
