-- allocations: the person's claims on GPUs
select
  a.cluster,
  a.namespace,
  a.pod,
  a.node,
  a.start_at,
  a.end_at,
  a.gpu_parts / 168000.0 as gpus
from allocations as a
inner join (
  select distinct
    cluster,
    workload_id
  from workloads
  where person_id = $person_id
) as w on a.cluster = w.cluster and a.workload_id = w.workload_id
order by a.start_at, a.cluster, a.pod
