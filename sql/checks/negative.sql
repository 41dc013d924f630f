-- usage and quota rows with a figure that is negative or not known where it must be
select
  cluster,
  row_start_at,
  'usage' as kind,
  pool,
  device_id,
  allocation_id
from usage_hourly
where
  least(
    capacity_pms, held_pms, computing_pms, idle_pms, unknown_pms, unallocated_pms, unavailable_pms, unobserved_pms,
    idle_confirmed_pms, stalled_pms, faulted_pms, not_started_pms, borrowed_pms, estimated_pms, overbooked_pms,
    energy_j, energy_known_pms, activity_permille_pms
  ) < 0
  or capacity_pms + held_pms + computing_pms + idle_pms + unknown_pms + unallocated_pms + unavailable_pms
  + unobserved_pms + idle_confirmed_pms + stalled_pms + faulted_pms + not_started_pms + borrowed_pms
  + estimated_pms + overbooked_pms + energy_known_pms + activity_permille_pms is null
union all
select
  cluster,
  row_start_at,
  'quota' as kind,
  pool,
  null as device_id,
  null as allocation_id
from quota_hourly
where
  least(
    guaranteed_pms, held_pms, within_pms, borrowed_pms, lent_pms, from_spare_pms, unused_pms, waiting_pms
  ) < 0
union all
select
  cluster,
  row_start_at,
  'lending' as kind,
  pool,
  null as device_id,
  null as allocation_id
from lending_hourly
where lent_pms < 0
