-- rows: the rows behind a number of a team, a pod or a GPU in [start_at, end_at): who held what on which device
with
gpus as (
  select
    cluster,
    device_id,
    any_value(gpu_uuid) as gpu_uuid,
    any_value(device_index) as device_index,
    any_value(profile) as profile
  from devices
  group by cluster, device_id
),

kinds as (
  select cluster, workload_id, arg_max(kind || ' ' || name, start_at) as workload
  from workloads
  group by cluster, workload_id
)

select
  u.cluster,
  u.team,
  coalesce(a.namespace, '') || '/' || a.pod as pod,
  k.workload,
  u.node,
  d.device_index,
  d.gpu_uuid,
  d.profile,
  u.pool,
  sum(u.capacity_pms)::bigint as capacity_pms,
  sum(u.held_pms)::bigint as held_pms,
  sum(u.computing_pms)::bigint as computing_pms,
  sum(u.idle_pms)::bigint as idle_pms,
  sum(u.unknown_pms)::bigint as unknown_pms,
  sum(u.unallocated_pms)::bigint as unallocated_pms,
  sum(u.unavailable_pms)::bigint as unavailable_pms,
  sum(u.unobserved_pms)::bigint as unobserved_pms,
  sum(u.borrowed_pms)::bigint as borrowed_pms,
  sum(u.faulted_pms)::bigint as faulted_pms,
  sum(u.not_started_pms)::bigint as not_started_pms,
  sum(u.overbooked_pms)::bigint as overbooked_pms,
  sum(u.energy_j)::bigint as energy_j
from usage_hourly as u
left join allocations as a on u.cluster = a.cluster and u.allocation_id = a.allocation_id
left join gpus as d on u.cluster = d.cluster and u.device_id = d.device_id
left join kinds as k on u.cluster = k.cluster and u.workload_id = k.workload_id
where
  u.row_start_at >= $start_at and u.row_start_at < $end_at
  and (
    ($kind = 'team' and u.team = $id)
    or ($kind = 'pod' and u.cluster = $cluster and coalesce(a.namespace, '') || '/' || a.pod = $id)
    or ($kind = 'gpu' and u.cluster = $cluster and d.gpu_uuid = $id)
  )
group by all
order by held_pms desc, capacity_pms desc, pod, node, device_index, gpu_uuid
