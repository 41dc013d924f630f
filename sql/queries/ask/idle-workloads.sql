-- the twenty workloads that left most GPU time idle, and whose they are
select
  u.team,
  w.namespace,
  w.kind,
  w.name,
  round(sum(u.held_pms) / 604800000000.0, 2) as held_gpu_h,
  round(sum(u.idle_pms) / 604800000000.0, 2) as idle_gpu_h,
  round(sum(u.unknown_pms) / 604800000000.0, 2) as unknown_gpu_h
from usage_daily as u
left join (
  select
    cluster,
    workload_id,
    arg_max(namespace, start_at) as namespace,
    arg_max(kind, start_at) as kind,
    arg_max(name, start_at) as name
  from workloads
  group by cluster, workload_id
) as w on u.cluster = w.cluster and u.workload_id = w.workload_id
where u.workload_id is not null
group by u.team, u.cluster, u.workload_id, w.namespace, w.kind, w.name
order by idle_gpu_h desc, u.team, w.name
limit 20
