-- workloads: what the person ran
select
  cluster,
  workload_id,
  kind,
  namespace,
  name,
  start_at,
  end_at
from workloads
where person_id = $person_id
order by start_at, cluster, workload_id
