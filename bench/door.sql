-- 90 days, from day $day on, of 10,000 GPUs by day, as the roll-up adds them up: 2,000 workloads of 40 teams a day, each of 4 or 5 GPUs.
insert into usage_daily by name
with told as (
  select
    day,
    w,
    604800000000 * 24 * (4 + w % 2) as pms
  from range(2000) as workloads (w), range($day, $day + $days) as days (day)
)

select
  'cluster-' || w % 2 as cluster,
  strftime(date '2026-09-01' + day::integer, '%Y-%m-%d') as business_day,
  'pool-' || w % 10 as pool,
  case when w % 3 = 0 then 'NVIDIA A100' else 'NVIDIA H100' end as model,
  'team-' || w % 40 as team,
  w + (day // 3) * 10000 as workload_id,
  pms as capacity_pms,
  pms as held_pms,
  pms * 8 // 10 as computing_pms,
  pms // 10 as idle_pms,
  pms - pms * 8 // 10 - pms // 10 as unknown_pms,
  0 as unallocated_pms,
  0 as unavailable_pms,
  0 as unobserved_pms,
  0 as idle_confirmed_pms,
  0 as stalled_pms,
  0 as faulted_pms,
  0 as not_started_pms,
  0 as borrowed_pms,
  0 as estimated_pms,
  0 as overbooked_pms,
  3600 * 24 * 300 as energy_j,
  pms as energy_known_pms,
  pms * 500 as activity_permille_pms,
  900 as activity_peak_permille,
  6000 as power_peak_dw,
  60000 as fb_used_peak_mib
from told
order by business_day, team, workload_id
