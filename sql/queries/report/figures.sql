-- figures: usage and cost of the days from $first_day to $last_day (of $team; null: of all) as sums, by level: all, each day and
-- team, each team, each pool and model, the $most costliest workloads, and the $idlest idlest of those that wasted more than a
-- fifth of what they held; place is their order. Team is null for what nobody held. Costs are in millionths; that of held time
-- is split by the differences of floors of the running amount, for each day, pool, model, team and workload, so that
-- computing + idle + unknown = base. uncharged is the capacity that has no charge.
with
used as (
  select
    business_day,
    cluster,
    pool,
    model,
    nullif(team, '') as team,
    workload_id,
    held_pms as held,
    computing_pms as computing,
    idle_pms as idle,
    unknown_pms as unknown,
    unallocated_pms as unallocated,
    unavailable_pms as unavailable,
    unobserved_pms as unobserved,
    stalled_pms as stalled,
    faulted_pms as faulted,
    not_started_pms as not_started,
    estimated_pms as estimated,
    overbooked_pms as overbooked,
    energy_j,
    energy_known_pms as energy_known,
    activity_permille_pms as activity,
    activity_peak_permille as activity_peak,
    power_peak_dw as power_peak
  from usage_daily
  where business_day between $first_day and $last_day and ($team is null or team = $team)
),

-- amount × 1,000,000 would leave what DECIMAL(18, 6) can hold, and in a wider one it is dear
lines as (
  select
    *,
    trunc(amount)::bigint * 1000000 + ((amount - trunc(amount)) * 1000000)::bigint as micros
  from charges
  where business_day between $first_day and $last_day and ($team is null or team = $team)
),

base as (
  select
    business_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    sum(micros) as base_micros
  from lines
  where kind = 'base'
  group by all
),

-- a cast of DECIMAL(38, 0) to an integer is a division, and dear: it is done only where a shorter one does not do
priced as (
  select
    u.*,
    u.held + u.unallocated + u.unavailable + u.unobserved as uncharged,
    case when u.team = 'unassigned' then u.held end as unassigned,
    coalesce(b.base_micros, 0) as base_micros,
    coalesce(try_cast(u.held as decimal(18, 0))::bigint::hugeint, u.held::hugeint) as whole_held,
    coalesce(try_cast(u.computing as decimal(18, 0))::bigint::hugeint, u.computing::hugeint) as whole_computing
  from used as u
  left join base as b
    on
      u.business_day = b.business_day
      and u.cluster = b.cluster
      and u.pool is not distinct from b.pool
      and u.model is not distinct from b.model
      and u.team = b.team
      and u.workload_id is not distinct from b.workload_id
),

-- so is the division of wide numbers: it is done only where the answer is not plain
split as (
  select
    * exclude (base_micros, whole_held, whole_computing),
    case
      when computing = 0 then 0
      when computing = held then base_micros
      else base_micros * whole_computing // whole_held
    end as computing_micros,
    case
      when unknown = held then 0
      when unknown = 0 then base_micros
      else base_micros * (computing + idle)::hugeint // whole_held
    end - computing_micros as idle_micros,
    case when stalled = 0 then 0 else base_micros * stalled::hugeint // whole_held end as stalled_micros
  from priced
),

charged as (
  select
    business_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    case when kind in ('base', 'unallocated', 'unavailable', 'unobserved') then -quantity_pms end as uncharged,
    case when kind = 'base' then micros end as base_micros,
    case when kind = 'unallocated' then micros end as unallocated_micros,
    case when kind = 'unavailable' then micros end as unavailable_micros,
    case when kind = 'unobserved' then micros end as unobserved_micros,
    case when kind = 'shared' then micros end as shared_micros,
    case when account = 'team' and kind not in ('base', 'shared') then micros end as adjustment_micros
  from lines
),

added as (
  select
    case grouping(business_day, pool) when 1 then 'day' when 2 then 'pool' else 'workload' end as level,
    business_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    coalesce(
      sum(columns(* exclude (business_day, cluster, pool, model, team, workload_id, activity_peak, power_peak))), 0
    ),
    max(activity_peak) as activity_peak,
    max(power_peak) as power_peak,
    count(*) as row_count
  from (
    select * from split -- noqa: AM07
    union all by name
    select * from charged
  ) as either
  group by grouping sets ((business_day, team), (cluster, pool, model), (cluster, workload_id, team))
),

sums as (
  select
    *,
    base_micros - computing_micros - idle_micros as unknown_micros,
    base_micros + shared_micros + adjustment_micros as owed_micros
  from added
),

by_workload as (
  select
    *,
    idle_micros + stalled_micros as wasted_micros,
    idle + stalled as wasted,
    count(*) over () as workload_count
  from sums
  where level = 'workload' and workload_id is not null and held > 0
),

costliest as (
  select *
  from by_workload
  order by owed_micros desc, held desc, cluster, workload_id, team
  limit $most
),

idlest as (
  select *
  from by_workload
  where wasted * 5 > held
  order by wasted_micros desc, wasted desc, cluster, workload_id, team
  limit $idlest
)

select -- noqa: AM07
  'all' as level,
  sum(columns(* exclude (level, business_day, cluster, pool, model, team, workload_id, activity_peak, power_peak)))
from sums
where level = 'day'
union all by name
select
  'team' as level,
  team,
  sum(columns(* exclude (level, business_day, cluster, pool, model, team, workload_id, activity_peak, power_peak)))
from sums
where level = 'day'
group by team
union all by name
select * from sums
where level <> 'workload'
union all by name
select
  * replace ('costliest' as level),
  row_number() over (order by owed_micros desc, held desc, cluster, workload_id, team) as place
from costliest
union all by name
select
  * replace ('idlest' as level),
  row_number() over (order by wasted_micros desc, wasted desc, cluster, workload_id, team) as place
from idlest
