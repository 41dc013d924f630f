-- holders: who holds which device at $at_ms, with the window of its workload's kind
create or replace temp table holders as
with
owners as (
  select *
  from workloads
  qualify row_number() over (partition by cluster, workload_id order by start_at desc) = 1
)

select
  p.c,
  k.cluster,
  p.device_id,
  p.a,
  a.workload_id,
  coalesce(o.kind, '') as kind,
  coalesce(o.name, '') as workload,
  coalesce(o.uid, '') as workload_uid,
  coalesce(l.namespace, '') as namespace,
  coalesce(l.pod, '') as pod,
  t.team,
  p.pool,
  p.model,
  p.node || '/' || p.device_index as place,
  p.parts,
  p.named,
  p.fit,
  p.doubtful,
  p.unstarted,
  a.s as bound_ms,
  case when a.started < $forever then a.started end as started_ms,
  w.window_ms
from pieces as p
inner join asked_clusters as k on p.c = k.c
inner join told_allocations as a on p.c = a.c and p.a = a.a
inner join allocations as l on k.cluster = l.cluster and p.a = l.allocation_id
left join allocation_teams as t on p.c = t.c and p.a = t.a and p.ruled_since = t.ruled_since
left join owners as o on k.cluster = o.cluster and a.workload_id = o.workload_id
inner join windows as w on coalesce(o.kind, '') = w.kind
where p.e >= $at_ms and p.parts > 0
