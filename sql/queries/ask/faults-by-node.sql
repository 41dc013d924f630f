-- which nodes fail: GPU-hours held but faulted, or unavailable
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: cluster varchar, optional, the cluster; all without it
select
  cluster,
  node,
  round(sum(faulted_gpu_h), 2) as faulted_gpu_h,
  round(sum(unavailable_gpu_h), 2) as unavailable_gpu_h
from reporting.usage_by_hour
where
  ($from is null or start_at::date >= $from)
  and ($to is null or start_at::date <= $to)
  and ($cluster is null or cluster = $cluster)
group by cluster, node
having sum(faulted_gpu_h) + sum(unavailable_gpu_h) > 0
order by sum(faulted_gpu_h) + sum(unavailable_gpu_h) desc, cluster, node
