-- spans that cannot be: usage rows of no time, over an hour or across one; allocations that start outside themselves
select
  cluster,
  'usage' as kind,
  device_id as id,
  row_start_at as start_at,
  row_end_at as end_at
from usage_hourly
where
  row_end_at <= row_start_at
  or epoch_ms(row_start_at) // 3600000 <> (epoch_ms(row_end_at) - 1) // 3600000
union all
select
  cluster,
  'allocation' as kind,
  allocation_id as id,
  start_at,
  end_at
from allocations
where started_at < start_at or started_at > end_at or sure_start_at < start_at or sure_end_at > end_at
union all
select
  cluster,
  'sample' as kind,
  series_id as id,
  min(sampled_at) as start_at,
  max(sampled_at) as end_at
from samples
where hold_ms <= 0 or hold_ms > 86400000
group by all
