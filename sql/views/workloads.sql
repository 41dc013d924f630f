-- workloads: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from workloads_versions
qualify
  row_number() over (
    partition by cluster, workload_id, start_at
    order by
      revision desc, recorded_at desc,
      hash(end_at, api_group, kind, namespace, name, uid, owner_chain, person_id, experiment, tags, gang_minimum) desc
  ) = 1
  and (end_at is null or end_at > start_at)
