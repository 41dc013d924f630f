-- daily: usage_daily of one business day, from usage_hourly
insert into usage_daily by name
select
  cluster,
  $business_day::varchar as business_day,
  pool,
  model,
  team,
  workload_id,
  sum(capacity_pms)::decimal(38, 0) as capacity_pms,
  sum(held_pms)::decimal(38, 0) as held_pms,
  sum(computing_pms)::decimal(38, 0) as computing_pms,
  sum(idle_pms)::decimal(38, 0) as idle_pms,
  sum(unknown_pms)::decimal(38, 0) as unknown_pms,
  sum(unallocated_pms)::decimal(38, 0) as unallocated_pms,
  sum(unavailable_pms)::decimal(38, 0) as unavailable_pms,
  sum(unobserved_pms)::decimal(38, 0) as unobserved_pms,
  sum(idle_confirmed_pms)::decimal(38, 0) as idle_confirmed_pms,
  sum(stalled_pms)::decimal(38, 0) as stalled_pms,
  sum(faulted_pms)::decimal(38, 0) as faulted_pms,
  sum(not_started_pms)::decimal(38, 0) as not_started_pms,
  sum(borrowed_pms)::decimal(38, 0) as borrowed_pms,
  sum(estimated_pms)::decimal(38, 0) as estimated_pms,
  sum(overbooked_pms)::decimal(38, 0) as overbooked_pms,
  sum(energy_j)::decimal(38, 0) as energy_j,
  sum(energy_known_pms)::decimal(38, 0) as energy_known_pms,
  sum(activity_permille_pms)::decimal(38, 0) as activity_permille_pms,
  max(activity_peak_permille) as activity_peak_permille,
  max(power_peak_dw) as power_peak_dw,
  max(fb_used_peak_mib) as fb_used_peak_mib
from usage_hourly
where cluster = $cluster and row_start_at >= $day_start_at and row_start_at < $day_end_at
group by cluster, pool, model, team, workload_id
