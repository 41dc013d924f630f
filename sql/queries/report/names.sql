-- names: what the workloads with the given ids are called
select
  cluster,
  workload_id,
  kind,
  namespace,
  name
from workloads
where workload_id in (select unnest($ids))
qualify row_number() over (partition by cluster, workload_id order by start_at desc) = 1
