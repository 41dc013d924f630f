-- how much of the held time on each node is known, thinnest first
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: cluster varchar, optional, the cluster; all without it
select
  cluster,
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
group by cluster, node
order by coverage_percent, cluster, node
