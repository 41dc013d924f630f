-- workloads: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from workloads_versions
qualify
  row_number() over (
    partition by cluster, workload_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, api_group desc, kind desc, namespace desc, name desc, uid desc, owner_chain desc, person_id desc,
      experiment desc, tags desc, gang_minimum desc
  ) = 1
  and (end_at is null or end_at > start_at)
