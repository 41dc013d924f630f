-- devices: for each workload with one of the given ids, how many devices it held in [$start_at, $end_at), how many of them
-- never computed, and the end of the last row of usage in which it did
with
by_device as (
  select
    cluster,
    workload_id,
    device_id,
    max(row_end_at) filter (where computing_pms > stalled_pms) as last_computing_at
  from usage_hourly
  where
    row_start_at >= $start_at and row_start_at < $end_at
    and list_contains($ids, workload_id)
    and held_pms > 0
  group by all
)

select
  cluster,
  workload_id,
  count(*) as devices,
  count(*) filter (where last_computing_at is null) as idle_devices,
  epoch_ms(max(last_computing_at)) as last_computing_ms
from by_device
group by all
