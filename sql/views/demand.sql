-- demand: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from demand_versions
qualify
  row_number() over (
    partition by cluster, demand_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, workload_id desc, namespace desc, pool desc, gpu_parts desc, pods desc, gang_minimum desc, reason desc,
      source desc, labels desc, user_patterns desc
  ) = 1
  and (end_at is null or end_at > start_at)
