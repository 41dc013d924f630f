-- where free GPUs are of little use: free GPUs by pool, the most on one node, and how many jobs of 1, 2, 4 and 8 GPUs on one node would fit
-- param: cluster varchar, optional, the cluster; all without it
-- param: pool varchar, optional, the pool; all without it
select
  cluster,
  pool,
  sum(free_gpus) as free_gpus,
  count(*) filter (where free_gpus > 0) as nodes_with_free,
  max(free_gpus) as most_on_one_node,
  sum(floor(free_gpus))::bigint as fit_1,
  sum(floor(free_gpus / 2))::bigint as fit_2,
  sum(floor(free_gpus / 4))::bigint as fit_4,
  sum(floor(free_gpus / 8))::bigint as fit_8,
  sum(free_gpus - floor(free_gpus)) as in_broken_gpus
from reporting.nodes
where
  schedulable
  and ready
  and ($cluster is null or cluster = $cluster)
  and ($pool is null or pool = $pool)
group by cluster, pool
order by cluster, pool
