-- allocations: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from allocations_versions
qualify
  row_number() over (
    partition by cluster, allocation_id
    order by
      revision desc, recorded_at desc,
      hash(start_at, started_at, end_at, source, workload_id, node, namespace, pod, pod_uid, end_evidence, sure_start_at, sure_end_at, priority, preemptible, gpu_parts, cpu_milli, memory_mib, labels, user_patterns) desc
  ) = 1
  and (end_at is null or end_at > start_at)
