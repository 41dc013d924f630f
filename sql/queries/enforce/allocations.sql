-- allocations: each pod's that touches the span, with its workload and the parts it holds
select
  epoch_ms(a.start_at) as bound_ms,
  epoch_ms(a.started_at) as started_ms,
  coalesce(epoch_ms(a.end_at), $forever::bigint) as end_ms,
  a.source,
  a.node,
  coalesce(a.namespace, '') as namespace,
  coalesce(a.pod, '') as pod,
  coalesce(nullif(a.pod_uid, ''), a.allocation_id::varchar) as pod_uid,
  coalesce(a.priority, 0) as priority,
  coalesce(a.preemptible, true) as preemptible,
  coalesce(nullif(a.gpu_parts, 0), h.parts, 0) as parts,
  case when json_valid(a.labels) then a.labels else '{}' end as labels,
  case when json_valid(a.user_patterns) then a.user_patterns else '[]' end as user_patterns,
  a.workload_id,
  coalesce(o.uid, '') as uid,
  coalesce(o.kind, '') as kind,
  coalesce(o.name, '') as name
from allocations as a
left join owners as o on a.cluster = o.cluster and a.workload_id = o.workload_id
left join held_parts as h on a.cluster = h.cluster and a.allocation_id = h.allocation_id
where
  a.cluster = $cluster
  and epoch_ms(a.start_at) <= $until_ms
  and coalesce(epoch_ms(a.end_at), $forever) > $from_ms
