-- what idle GPU time cost each team: its base lines, by the idle part of what each of its workloads held
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
with
used as (
  select
    cluster,
    day,
    pool,
    model,
    team,
    workload_id,
    sum(held_gpu_h) as held_gpu_h,
    sum(idle_gpu_h) as idle_gpu_h
  from reporting.usage_by_day
  where
    held_gpu_h > 0
    and ($from is null or day >= $from)
    and ($to is null or day <= $to)
    and ($team is null or team = $team)
  group by all
),

base as (
  select
    cluster,
    day,
    pool,
    model,
    team,
    workload_id,
    currency,
    sum(amount) as amount
  from reporting.costs
  where
    kind = 'base'
    and coalesce(measure, 'gpu_hour') = 'gpu_hour'
    and ($from is null or day >= $from)
    and ($to is null or day <= $to)
    and ($team is null or team = $team)
  group by all
)

select
  u.team,
  b.currency,
  round(sum(u.idle_gpu_h), 2) as idle_gpu_h,
  sum(b.amount * u.idle_gpu_h / u.held_gpu_h)::decimal(38, 2) as idle_cost,
  sum(b.amount)::decimal(38, 2) as base_cost
from used as u
inner join base as b
  on
    u.cluster = b.cluster
    and u.day = b.day
    and u.pool = b.pool
    and u.model = b.model
    and u.team = b.team
    and u.workload_id = b.workload_id
group by u.team, b.currency
order by idle_cost desc, u.team
