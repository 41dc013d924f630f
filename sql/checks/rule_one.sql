-- usage rows in which capacity is not held + unallocated + unavailable + unobserved, or held not computing + idle + unknown
select
  cluster,
  row_start_at,
  pool,
  node,
  device_id,
  allocation_id,
  capacity_pms,
  held_pms,
  capacity_pms - (held_pms + unallocated_pms + unavailable_pms + unobserved_pms) as capacity_off_by,
  held_pms - (computing_pms + idle_pms + unknown_pms) as held_off_by
from usage_hourly
where
  capacity_pms is distinct from held_pms + unallocated_pms + unavailable_pms + unobserved_pms
  or held_pms is distinct from computing_pms + idle_pms + unknown_pms
