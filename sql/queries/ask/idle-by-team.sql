-- which team held GPUs that did nothing: GPU-hours held, idle and unknown, and the idle share of what is known
select
  team,
  round(sum(held_pms) / 604800000000.0, 2) as held_gpu_h,
  round(sum(idle_pms) / 604800000000.0, 2) as idle_gpu_h,
  round(sum(unknown_pms) / 604800000000.0, 2) as unknown_gpu_h,
  round(100.0 * sum(idle_pms) / nullif(sum(computing_pms) + sum(idle_pms), 0), 1) as idle_percent
from usage_daily
where held_pms > 0
group by team
order by idle_gpu_h desc, team
