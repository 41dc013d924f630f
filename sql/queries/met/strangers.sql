-- strangers: pods that the span's samples name on a device while Kubernetes is believed, and that Kubernetes does not have there
with
believed as (
  select min(start_at) as start_at
  from authority
  where cluster = $cluster and source = 'kubernetes' and kind = 'holders'
),

named as (
  select
    s.node,
    s.gpu_uuid,
    s.gi_id,
    s.sampled_at,
    l.namespace,
    l.pod,
    l.pod_uid
  from spoken as s
  inner join believed as b on s.sampled_at >= b.start_at
  inner join label_refs as l on s.cluster = l.cluster and s.label_ref = l.label_ref
  where
    s.cluster = $cluster
    and s.source = 'dcgm'
    and s.sampled_at >= make_timestamptz($from_ms::bigint * 1000)
    and s.sampled_at < make_timestamptz($until_ms::bigint * 1000)
    and l.pod <> ''
    and l.namespace <> 'kai-resource-reservation'
)

select
  n.namespace,
  n.pod,
  n.node,
  n.gpu_uuid,
  n.gi_id,
  epoch_ms(min(n.sampled_at)) as first_ms,
  epoch_ms(max(n.sampled_at)) as last_ms
from named as n
anti join allocations as a
  on
    a.cluster = $cluster
    and a.source = 'kubernetes'
    and n.node = a.node
    and n.namespace = a.namespace
    and n.pod = a.pod
    and n.pod_uid in ('', a.pod_uid)
    and n.sampled_at >= a.start_at
    and (a.end_at is null or n.sampled_at < a.end_at)
group by all
order by all
