-- thirty days of 10,000 GPUs in ten pools of 40 teams: a workload each, every tenth with a credit, what nobody held shared by all
insert into charges by name
with
days as (
  select strftime('2026-11-01'::date + d::integer, '%Y-%m-%d') as business_day
  from range(30) as days (d)
),

lines as (
  select
    w as workload_id,
    'pool-' || w % 10 as pool,
    'team-' || w % 40 as team,
    'base' as kind,
    'team' as account,
    '' as detail,
    24 as hours
  from range(10000) as workloads (w)
  union all by name
  select
    w as workload_id,
    'pool-' || w % 10 as pool,
    'team-' || w % 40 as team,
    'adjustment' as kind,
    'team' as account,
    'lent' as detail,
    -3 as hours
  from range(0, 10000, 10) as workloads (w)
  union all by name
  select
    null as workload_id,
    'pool-' || p as pool,
    case when kind = 'shared' then 'team-' || t end as team,
    kind,
    if(kind = 'shared', 'team', 'clearing') as account,
    'unallocated' as detail,
    if(kind = 'shared', 7, -7) as hours
  from range(10) as pools (p), range(40) as teams (t), (values ('shared'), ('clearing')) as kinds (kind)
)

select
  hash(business_day, workload_id, pool, team, kind, account, detail) // 2 as charge_id,
  'cluster-1' as cluster,
  business_day,
  pool,
  'NVIDIA H100' as model,
  team,
  workload_id,
  kind,
  account,
  if(kind in ('base', 'adjustment'), hours, 0) * 604800000000 as quantity_pms,
  2.35 as unit_price,
  hours * 2.35 as amount,
  'EUR' as currency,
  1 as rate_id,
  detail,
  'gpu_hour' as measure
from days, lines
;

insert into workloads_versions by name
select
  'cluster-1' as cluster,
  w as workload_id,
  '2026-10-01'::timestamptz as start_at,
  'PyTorchJob' as kind,
  'ns-' || w % 40 as namespace,
  'job-' || w as name,
  '{"project":"p' || w % 100 || '"}' as tags,
  0 as revision
from range(10000) as workloads (w)
;

insert into teams_versions by name
select
  t as team_id,
  'team-' || t as team,
  '2026-01-01'::timestamptz as start_at,
  'department-' || t % 6 as department,
  'CC-' || t as cost_centre,
  0 as revision
from range(40) as teams (t)
