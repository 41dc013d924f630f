-- waits: what waited for GPUs and for how long; until_at null: it waits still
select
  cluster,
  demand_id,
  workload_id,
  namespace,
  pool,
  min(start_at) as since_at,
  case when count(*) = count(end_at) then max(end_at) end as until_at,
  ((arg_max(gpu_parts, start_at) * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as gpus,
  arg_max(pods, start_at) as pods,
  arg_max(reason, start_at) as reason
from main.demand
group by cluster, demand_id, workload_id, namespace, pool
