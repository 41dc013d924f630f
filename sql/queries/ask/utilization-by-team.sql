-- how much of what each team held it used: GPU-hours held, computing, idle and unknown, and the computing share of what is known
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
-- param: pool varchar, optional, the pool; all without it
select
  team,
  round(sum(held_gpu_h), 2) as held_gpu_h,
  round(sum(computing_gpu_h), 2) as computing_gpu_h,
  round(sum(idle_gpu_h), 2) as idle_gpu_h,
  round(sum(unknown_gpu_h), 2) as unknown_gpu_h,
  round(100.0 * sum(computing_gpu_h) / nullif(sum(computing_gpu_h) + sum(idle_gpu_h), 0), 1) as computing_percent,
  round(100.0 * (sum(held_gpu_h) - sum(unknown_gpu_h)) / sum(held_gpu_h), 1) as coverage_percent
from reporting.usage_by_day
where
  held_gpu_h > 0
  and ($from is null or day >= $from)
  and ($to is null or day <= $to)
  and ($team is null or team = $team)
  and ($pool is null or pool = $pool)
group by team
order by held_gpu_h desc, team
