-- which team held GPUs that did nothing: GPU-hours held, idle and unknown, and the idle share of what is known
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
select
  team,
  round(sum(held_gpu_h), 2) as held_gpu_h,
  round(sum(idle_gpu_h), 2) as idle_gpu_h,
  round(sum(unknown_gpu_h), 2) as unknown_gpu_h,
  round(100.0 * sum(idle_gpu_h) / nullif(sum(computing_gpu_h) + sum(idle_gpu_h), 0), 1) as idle_percent
from reporting.usage_by_day
where
  held_gpu_h > 0
  and ($from is null or day >= $from)
  and ($to is null or day <= $to)
  and ($team is null or team = $team)
group by team
order by idle_gpu_h desc, team
