-- devices: each device in a span of time: what its time went into, and who held most of it; of a reader with teams, theirs
with
used as (
  select
    cluster,
    pool,
    model,
    node,
    device_id,
    team,
    workload_id,
    sum(computing_pms)::hugeint as computing,
    sum(idle_pms)::hugeint as idle,
    sum(unknown_pms)::hugeint as unknown,
    sum(unallocated_pms)::hugeint as unallocated,
    sum(unavailable_pms)::hugeint as unavailable,
    sum(unobserved_pms)::hugeint as unobserved,
    sum(held_pms)::hugeint as held
  from usage_hourly
  where
    row_start_at >= make_timestamptz($from_ms::bigint * 1000)
    and row_start_at < make_timestamptz($until_ms::bigint * 1000)
    and ($teams is null or list_contains($teams::varchar[], team))
  group by all
),

summed as (
  select
    cluster,
    pool,
    model,
    node,
    device_id,
    arg_max(team, held) filter (where held > 0) as team,
    arg_max(workload_id, held) filter (where held > 0) as workload_id,
    count(distinct team) filter (where held > 0) as teams,
    sum(computing)::bigint as computing_pms,
    sum(idle)::bigint as idle_pms,
    sum(unknown)::bigint as unknown_pms,
    sum(unallocated)::bigint as unallocated_pms,
    sum(unavailable)::bigint as unavailable_pms,
    sum(unobserved)::bigint as unobserved_pms
  from used
  group by cluster, pool, model, node, device_id
),

there as (
  select *
  from devices
  where start_at < make_timestamptz($until_ms::bigint * 1000)
  qualify row_number() over (partition by cluster, device_id order by start_at desc) = 1
)

select
  s.cluster,
  coalesce(s.pool, '') as pool,
  coalesce(s.model, '') as model,
  coalesce(s.node, '') as node,
  d.device_index,
  coalesce(d.gpu_uuid, '') as gpu_uuid,
  coalesce(d.kind, 'gpu') as kind,
  coalesce(d.profile, '') as profile,
  coalesce(d.parts, 168000) as parts,
  coalesce(s.team, '') as team,
  s.teams,
  coalesce(o.kind, '') as workload_kind,
  coalesce(o.namespace, '') as namespace,
  coalesce(o.name, '') as name,
  s.computing_pms,
  s.idle_pms,
  s.unknown_pms,
  s.unallocated_pms,
  s.unavailable_pms,
  s.unobserved_pms
from summed as s
left join there as d on s.cluster = d.cluster and s.device_id = d.device_id
left join owners as o on s.cluster = o.cluster and s.workload_id = o.workload_id
order by s.cluster, pool, model, length(s.node), s.node, d.device_index, gpu_uuid, d.kind, d.gi_id, s.device_id
