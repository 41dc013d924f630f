-- where telemetry is missing: nodes and days on which less than the given share of held time is known, thinnest first
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: percent decimal, default 95, the least coverage that is good enough
-- param: cluster varchar, optional, the cluster; all without it
select
  cluster,
  start_at::date as day,
  node,
  round(sum(held_gpu_h), 2) as held_gpu_h,
  round(sum(unknown_gpu_h), 2) as unknown_gpu_h,
  round(100.0 * (sum(held_gpu_h) - sum(unknown_gpu_h)) / sum(held_gpu_h), 1) as coverage_percent
from reporting.usage_by_hour
where
  held_gpu_h > 0
  and ($from is null or start_at::date >= $from)
  and ($to is null or start_at::date <= $to)
  and ($cluster is null or cluster = $cluster)
group by cluster, start_at::date, node
having 100.0 * (sum(held_gpu_h) - sum(unknown_gpu_h)) / sum(held_gpu_h) < $percent
order by coverage_percent, cluster, day, node
