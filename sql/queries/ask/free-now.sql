-- how many GPUs each pool has at this moment: there, held, free, sick, and on nodes that take nothing
-- param: cluster varchar, optional, the cluster; all without it
select
  cluster,
  pool,
  model,
  count(*) as nodes,
  sum(gpus) as gpus,
  sum(held_gpus) as held_gpus,
  coalesce(sum(free_gpus) filter (where schedulable and ready), 0) as free_gpus,
  sum(sick_gpus) as sick_gpus,
  coalesce(sum(free_gpus) filter (where not (schedulable and ready)), 0) as closed_gpus
from reporting.nodes
where $cluster is null or cluster = $cluster
group by cluster, pool, model
order by cluster, pool, model
