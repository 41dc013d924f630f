-- instances: each MIG instance that the span's samples tell of by number, and which devices (that dynamic resource allocation
-- knows by UUID) the pods that are named on it hold of its GPU and profile
with
seen as (
  select distinct s.node, s.gpu_uuid, s.gi_id, s.profile, s.sampled_at, s.label_ref
  from spoken as s
  where
    s.cluster = $cluster
    and s.source = 'dcgm'
    and s.gi_id <> ''
    and s.sampled_at >= make_timestamptz($from_ms::bigint * 1000)
    and s.sampled_at < make_timestamptz($until_ms::bigint * 1000)
),

held as (
  select
    a.namespace,
    a.pod,
    a.start_at,
    a.end_at,
    d.device_id,
    d.gpu_uuid,
    d.profile
  from holdings as h
  inner join allocations as a on h.cluster = a.cluster and h.allocation_id = a.allocation_id
  inner join devices as d on h.cluster = d.cluster and h.device_id = d.device_id
  where h.cluster = $cluster and h.evidence = 'dra' and d.kind = 'mig' and a.source = 'kubernetes'
),

pods as (
  select distinct label_ref, namespace, pod
  from label_refs
  where cluster = $cluster and pod <> ''
)

select
  s.gpu_uuid,
  s.gi_id,
  s.profile,
  coalesce(list(distinct h.device_id) filter (where h.device_id is not null), []) as device_ids
from seen as s
left join pods as p on s.label_ref = p.label_ref
left join held as h
  on
    p.namespace = h.namespace
    and p.pod = h.pod
    and s.gpu_uuid = h.gpu_uuid
    and s.profile = h.profile
    and s.sampled_at >= h.start_at
    and (h.end_at is null or s.sampled_at < h.end_at)
group by s.gpu_uuid, s.gi_id, s.profile
order by s.gpu_uuid, s.gi_id
