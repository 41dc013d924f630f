-- told_allocations: each pod's claim as last told, of those that touch the asked span (intervals from labels end where the next
-- begins, so all of them are read)
create or replace temp table told_allocations as
select
  c.c,
  a.allocation_id as a,
  epoch_ms(a.start_at) as s,
  coalesce(epoch_ms(a.end_at), $forever) as e,
  coalesce(epoch_ms(a.started_at), $forever) as started,
  coalesce(epoch_ms(a.sure_start_at), epoch_ms(a.start_at)) as sure_s,
  coalesce(epoch_ms(a.sure_end_at), $forever) as sure_e,
  a.source,
  a.workload_id,
  a.node,
  coalesce(a.namespace, '') as namespace,
  case when json_valid(a.labels) then a.labels else '{}' end as labels,
  case when json_valid(a.user_patterns) then a.user_patterns else '[]' end as user_patterns,
  coalesce(a.preemptible, true) as preemptible,
  coalesce(a.gpu_parts, 0) as gpu_parts
from allocations as a
inner join asked_clusters as c on a.cluster = c.cluster
where
  epoch_ms(a.start_at) < $until_ms
  and (coalesce(epoch_ms(a.end_at), $forever) > $from_ms or a.source = 'labels')
