-- effective_usage: usage of the given spans as it is known now, row by row: what is written of it and all later differences.
-- given_spans(start_ms, end_ms) is given
with
told as (
  select * from lake.usage_hourly
  union all by name
  select * exclude (recorded_at) from lake.usage_late
),

within as (
  select t.*
  from told as t
  inner join given_spans as s
    on t.row_start_at >= make_timestamptz(s.start_ms * 1000) and t.row_start_at < make_timestamptz(s.end_ms * 1000)
)

select
  cluster,
  row_start_at,
  pool,
  model,
  node,
  device_id,
  allocation_id,
  workload_id,
  team,
  max(row_end_at) as row_end_at,
  sum(coalesce(capacity_pms, 0))::bigint as capacity_pms,
  sum(coalesce(held_pms, 0))::bigint as held_pms,
  sum(coalesce(computing_pms, 0))::bigint as computing_pms,
  sum(coalesce(idle_pms, 0))::bigint as idle_pms,
  sum(coalesce(unknown_pms, 0))::bigint as unknown_pms,
  sum(coalesce(unallocated_pms, 0))::bigint as unallocated_pms,
  sum(coalesce(unavailable_pms, 0))::bigint as unavailable_pms,
  sum(coalesce(unobserved_pms, 0))::bigint as unobserved_pms,
  sum(coalesce(idle_confirmed_pms, 0))::bigint as idle_confirmed_pms,
  sum(coalesce(stalled_pms, 0))::bigint as stalled_pms,
  sum(coalesce(faulted_pms, 0))::bigint as faulted_pms,
  sum(coalesce(not_started_pms, 0))::bigint as not_started_pms,
  sum(coalesce(borrowed_pms, 0))::bigint as borrowed_pms,
  sum(coalesce(estimated_pms, 0))::bigint as estimated_pms,
  sum(coalesce(overbooked_pms, 0))::bigint as overbooked_pms,
  sum(coalesce(energy_j, 0))::bigint as energy_j,
  sum(coalesce(energy_known_pms, 0))::bigint as energy_known_pms,
  sum(coalesce(activity_permille_pms, 0))::bigint as activity_permille_pms,
  max(activity_peak_permille) as activity_peak_permille,
  max(power_peak_dw) as power_peak_dw,
  max(fb_used_peak_mib) as fb_used_peak_mib
from within
group by
  cluster,
  row_start_at,
  pool,
  model,
  node,
  device_id,
  allocation_id,
  workload_id,
  team
having sum(capacity_pms) <> 0 or sum(overbooked_pms) <> 0
