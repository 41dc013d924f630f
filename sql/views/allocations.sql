-- allocations: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from allocations_versions
qualify
  row_number() over (
    partition by cluster, allocation_id
    order by
      revision desc, recorded_at desc,
      start_at desc, started_at desc, end_at desc, source desc, workload_id desc, node desc, namespace desc, pod desc,
      pod_uid desc, end_evidence desc, sure_start_at desc, sure_end_at desc, priority desc, preemptible desc, gpu_parts desc,
      cpu_milli desc, memory_mib desc, labels desc, user_patterns desc
  ) = 1
  and (end_at is null or end_at > start_at)
