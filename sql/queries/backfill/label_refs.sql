-- label_refs: whom a cluster's label sets name
select distinct
  label_ref,
  namespace,
  pod,
  pod_uid,
  hpc_job
from label_refs
where cluster = $cluster
