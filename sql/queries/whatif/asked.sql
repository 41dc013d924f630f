-- asked: each pod that ran in the span, since when it was asked for, how long it ran, and of which workload it is
with
waited as (
  select
    workload_id,
    demand_id,
    min(epoch_ms(start_at)) as since_ms,
    max(coalesce(epoch_ms(end_at), $forever::bigint)) as until_ms
  from demand
  where cluster = $cluster
  group by workload_id, demand_id
),

since as (
  select
    a.allocation_id,
    max(w.since_ms) as since_ms
  from allocations as a
  inner join waited as w
    on
      a.workload_id = w.workload_id
      and epoch_ms(a.start_at) between w.since_ms and w.until_ms + 60000
  where a.cluster = $cluster
  group by a.allocation_id
)

select
  a.allocation_id,
  a.workload_id,
  epoch_ms(a.start_at) as bound_ms,
  coalesce(epoch_ms(a.end_at), $forever::bigint) as end_ms,
  coalesce(s.since_ms, epoch_ms(a.start_at)) as asked_ms,
  a.source,
  a.node,
  coalesce(a.namespace, '') as namespace,
  coalesce(a.pod, '') as pod,
  coalesce(a.priority, 0) as priority,
  coalesce(a.preemptible, true) as preemptible,
  coalesce(nullif(a.gpu_parts, 0), h.parts, 0) as parts,
  case when json_valid(a.labels) then a.labels else '{}' end as labels,
  case when json_valid(a.user_patterns) then a.user_patterns else '[]' end as user_patterns,
  coalesce(o.kind, '') as kind,
  coalesce(o.name, '') as name,
  coalesce(o.gang_minimum, 1) as gang_minimum
from allocations as a
left join owners as o on a.cluster = o.cluster and a.workload_id = o.workload_id
left join held_parts as h on a.cluster = h.cluster and a.allocation_id = h.allocation_id
left join since as s on a.allocation_id = s.allocation_id
where
  a.cluster = $cluster
  and epoch_ms(a.start_at) < $until_ms
  and coalesce(epoch_ms(a.end_at), $forever::bigint) > $from_ms
order by a.workload_id, bound_ms, a.allocation_id
