-- usage: GPU-hours of the person's workloads by business day
select
  u.business_day,
  u.team,
  sum(u.held_pms) / 604800000000.0 as held_gpu_h,
  sum(u.computing_pms) / 604800000000.0 as computing_gpu_h,
  sum(u.idle_pms) / 604800000000.0 as idle_gpu_h,
  sum(u.unknown_pms) / 604800000000.0 as unknown_gpu_h
from usage_daily as u
inner join (
  select distinct
    cluster,
    workload_id
  from workloads
  where person_id = $person_id
) as w on u.cluster = w.cluster and u.workload_id = w.workload_id
group by u.business_day, u.team
order by u.business_day, u.team
