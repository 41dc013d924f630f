-- nodes: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from nodes_versions
qualify
  row_number() over (
    partition by cluster, node, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, pool desc, model desc, gpu_count desc, cpu_milli desc, memory_mib desc, sharing desc, replicas desc,
      schedulable desc, ready desc
  ) = 1
  and (end_at is null or end_at > start_at)
