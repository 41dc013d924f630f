-- labels: on which devices the span's samples name the pod of an allocation while it lasts, and what is known of its devices.
-- The row of a whole GPU beside its instances is no device
with
asked as (
  select *
  from spoken
  where
    cluster = $cluster
    and source = 'dcgm'
    and sampled_at >= make_timestamptz($from_ms::bigint * 1000)
    and sampled_at < make_timestamptz($until_ms::bigint * 1000)
),

cut as (
  select distinct node, gpu_uuid, sampled_at
  from asked
  where gi_id <> ''
),

pods as (
  select distinct label_ref, namespace, pod, pod_uid
  from label_refs
  where cluster = $cluster and pod <> ''
),

named as (
  select
    asked.node,
    asked.gpu_uuid,
    asked.gi_id,
    asked.sampled_at,
    l.namespace,
    l.pod,
    l.pod_uid
  from asked
  anti join cut
    on
      asked.gi_id = ''
      and asked.node = cut.node
      and asked.gpu_uuid = cut.gpu_uuid
      and asked.sampled_at = cut.sampled_at
  inner join pods as l on asked.label_ref = l.label_ref
),

met as (
  select
    a.allocation_id,
    n.gpu_uuid,
    n.gi_id,
    epoch_ms(min(n.sampled_at)) as first_ms,
    epoch_ms(max(n.sampled_at)) as last_ms
  from named as n
  inner join allocations as a
    on
      a.cluster = $cluster
      and a.source = 'kubernetes'
      and n.node = a.node
      and n.namespace = a.namespace
      and n.pod = a.pod
      and n.pod_uid in ('', a.pod_uid)
      and n.sampled_at >= a.start_at
      and (a.end_at is null or n.sampled_at < a.end_at)
  group by a.allocation_id, n.gpu_uuid, n.gi_id
),

known as (
  select
    allocation_id,
    list(distinct device_id) as device_ids,
    min(case evidence when 'dra' then 0 when 'kubelet' then 1 else 2 end) as rank
  from holdings
  where cluster = $cluster
  group by allocation_id
)

select
  m.*,
  a.namespace,
  a.pod,
  a.gpu_parts,
  epoch_ms(a.start_at) as start_ms,
  epoch_ms(a.end_at) as end_ms,
  coalesce(k.device_ids, []) as known_ids,
  coalesce(k.rank, 9) as known_rank
from met as m
inner join allocations as a on a.cluster = $cluster and m.allocation_id = a.allocation_id
left join known as k on m.allocation_id = k.allocation_id
order by m.allocation_id, m.gpu_uuid, m.gi_id
