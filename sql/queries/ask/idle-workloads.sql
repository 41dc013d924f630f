-- the workloads that left most GPU time idle, and whose they are
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
-- param: top integer, default 20, how many rows at most
with used as (
  select
    cluster,
    workload_id,
    team,
    sum(held_gpu_h) as held_gpu_h,
    sum(idle_gpu_h) as idle_gpu_h,
    sum(unknown_gpu_h) as unknown_gpu_h
  from reporting.usage_by_day
  where
    workload_id is not null
    and ($from is null or day >= $from)
    and ($to is null or day <= $to)
    and ($team is null or team = $team)
  group by cluster, workload_id, team
)

select
  u.team,
  w.namespace,
  w.kind,
  w.name,
  round(u.held_gpu_h, 2) as held_gpu_h,
  round(u.idle_gpu_h, 2) as idle_gpu_h,
  round(u.unknown_gpu_h, 2) as unknown_gpu_h
from used as u
left join reporting.workloads as w on u.cluster = w.cluster and u.workload_id = w.workload_id and u.team = w.team
order by u.idle_gpu_h desc, u.team, w.name
limit $top
