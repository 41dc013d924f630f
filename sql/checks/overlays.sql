-- usage rows whose overlays are more than what they lie within
select
  cluster,
  row_start_at,
  pool,
  device_id,
  allocation_id,
  case
    when idle_confirmed_pms > idle_pms then 'idle_confirmed above idle'
    when stalled_pms > computing_pms then 'stalled above computing'
    when faulted_pms > idle_pms + unknown_pms then 'faulted above what does not compute'
    when not_started_pms > held_pms then 'not_started above held'
    when borrowed_pms > held_pms then 'borrowed above held'
    when energy_known_pms > capacity_pms then 'energy known for more than there is'
    else 'faulted, not_started and idle_confirmed together above held'
  end as broken
from usage_hourly
where
  idle_confirmed_pms > idle_pms
  or stalled_pms > computing_pms
  or faulted_pms > idle_pms + unknown_pms
  or not_started_pms > held_pms
  or borrowed_pms > held_pms
  or energy_known_pms > capacity_pms
  or faulted_pms + not_started_pms + idle_confirmed_pms > held_pms
