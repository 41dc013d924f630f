-- how long workloads waited for GPUs, by pool: the median, nine of ten, and the longest; what waits still counts until now
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: pool varchar, optional, the pool; all without it
with waited as (
  select
    cluster,
    pool,
    gpus,
    until_at is null as waits_still,
    epoch(coalesce(until_at, now()) - since_at) / 60 as minutes
  from reporting.waits
  where
    ($from is null or since_at::date >= $from)
    and ($to is null or since_at::date <= $to)
    and ($pool is null or pool = $pool)
)

select
  cluster,
  pool,
  count(*) as waits,
  count(*) filter (where waits_still) as waiting_now,
  sum(gpus) filter (where waits_still) as gpus_wanted_now,
  round(quantile_cont(minutes, 0.5), 1) as median_minutes,
  round(quantile_cont(minutes, 0.9), 1) as nine_of_ten_minutes,
  round(max(minutes), 1) as longest_minutes
from waited
group by cluster, pool
order by cluster, pool
