-- what each pool's GPU time went into: held, unallocated, unavailable, unobserved add up to capacity
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: cluster varchar, optional, the cluster; all without it
select
  cluster,
  pool,
  round(sum(capacity_gpu_h), 1) as capacity_gpu_h,
  round(sum(held_gpu_h), 1) as held_gpu_h,
  round(sum(unallocated_gpu_h), 1) as unallocated_gpu_h,
  round(sum(unavailable_gpu_h), 1) as unavailable_gpu_h,
  round(sum(unobserved_gpu_h), 1) as unobserved_gpu_h
from reporting.usage_by_day
where
  ($from is null or day >= $from)
  and ($to is null or day <= $to)
  and ($cluster is null or cluster = $cluster)
group by cluster, pool
order by cluster, pool
