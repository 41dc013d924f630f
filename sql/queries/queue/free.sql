-- free: the free GPUs of each pool now, on nodes that take work, and the most on one node
select
  cluster,
  coalesce(pool, '') as pool,
  (sum(free_gpus) * 168000)::bigint as free_parts,
  (max(free_gpus) * 168000)::bigint as most_parts
from reporting.nodes
where schedulable and ready
group by cluster, pool
order by cluster, pool
