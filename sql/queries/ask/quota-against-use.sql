-- how each team used what it is promised: GPU-hours guaranteed, held within, borrowed beyond, lent, unused and waited for
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
-- param: pool varchar, optional, the pool; all without it
select
  cluster,
  pool,
  team,
  round(sum(guaranteed_gpu_h), 1) as guaranteed_gpu_h,
  round(sum(within_gpu_h), 1) as within_gpu_h,
  round(sum(borrowed_gpu_h), 1) as borrowed_gpu_h,
  round(sum(lent_gpu_h), 1) as lent_gpu_h,
  round(sum(unused_gpu_h), 1) as unused_gpu_h,
  round(sum(waiting_gpu_h), 1) as waiting_gpu_h,
  round(100.0 * sum(within_gpu_h) / nullif(sum(guaranteed_gpu_h), 0), 1) as used_percent
from reporting.quota_by_hour
where
  ($from is null or start_at::date >= $from)
  and ($to is null or start_at::date <= $to)
  and ($team is null or team = $team)
  and ($pool is null or pool = $pool)
group by cluster, pool, team
order by cluster, pool, team
