-- known_workloads: a cluster's workloads, by what names them where their uid is not told
select distinct
  kind,
  namespace,
  name,
  workload_id
from workloads
where cluster = $cluster
