-- workloads: each workload that held GPUs, for which team, under its last name, with what it held in all
with
names as (
  select
    cluster,
    workload_id,
    arg_max(api_group, start_at) as api_group,
    arg_max(kind, start_at) as kind,
    arg_max(namespace, start_at) as namespace,
    arg_max(name, start_at) as name,
    arg_max(experiment, start_at) as experiment
  from main.workloads
  group by cluster, workload_id
),

held as (
  select
    cluster,
    workload_id,
    team,
    min(business_day)::date as first_day,
    max(business_day)::date as last_day,
    sum(held_pms) as held_pms,
    sum(idle_pms) as idle_pms
  from main.usage_daily
  where workload_id is not null
  group by cluster, workload_id, team
)

select
  h.cluster,
  h.workload_id,
  h.team,
  n.api_group,
  n.kind,
  n.namespace,
  n.name,
  n.experiment,
  h.first_day,
  h.last_day,
  (h.held_pms / 604800000000)::decimal(18, 6) as held_gpu_h,
  (h.idle_pms / 604800000000)::decimal(18, 6) as idle_gpu_h
from held as h
left join names as n on h.cluster = n.cluster and h.workload_id = n.workload_id
