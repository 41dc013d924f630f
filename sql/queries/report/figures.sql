-- figures: usage and cost of the span (of $teams; null: of all) as sums, by level: all, each day and
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
  from span_usage
  where $teams is null or list_contains($teams, team)
),

lines as (
  select *
  from span_charges
  where number = 0 and ($teams is null or list_contains($teams, team))
),

base as (
  select
    business_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    sum(quantity_pms) as quantity,
    sum(micros) as base_micros
  from lines
  where kind = 'base'
  group by all
),

-- a cast of DECIMAL(38, 0) to an integer is a division, and dear: it is done only where a shorter one does not do
priced as (
  select
    coalesce(u.business_day, b.business_day) as business_day,
    coalesce(u.cluster, b.cluster) as cluster,
    coalesce(u.pool, b.pool) as pool,
    coalesce(u.model, b.model) as model,
    coalesce(u.team, b.team) as team,
    coalesce(u.workload_id, b.workload_id) as workload_id,
    u.* exclude (business_day, cluster, pool, model, team, workload_id),
    coalesce(u.held + u.unallocated + u.unavailable + u.unobserved, 0) - coalesce(b.quantity, 0) as uncharged,
    case when u.team = 'unassigned' then u.held end as unassigned,
    coalesce(b.base_micros, 0) as base_micros,
    coalesce(try_cast(u.held as decimal(18, 0))::bigint::hugeint, u.held::hugeint) as whole_held,
    coalesce(try_cast(u.computing as decimal(18, 0))::bigint::hugeint, u.computing::hugeint) as whole_computing
  from used as u
  full outer join base as b
    on
      u.business_day = b.business_day
      and u.cluster = b.cluster
      and u.pool is not distinct from b.pool
      and u.model is not distinct from b.model
      and u.team is not distinct from b.team
      and u.workload_id is not distinct from b.workload_id
),

-- so is the division of wide numbers: it is done only where the answer is not plain
split as (
  select
    * exclude (whole_held, whole_computing),
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

other_lines as (
  select
    business_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    case when kind in ('unallocated', 'unavailable', 'unobserved') then -quantity_pms end as uncharged,
    case when kind = 'unallocated' then micros end as unallocated_micros,
    case when kind = 'unavailable' then micros end as unavailable_micros,
    case when kind = 'unobserved' then micros end as unobserved_micros,
    case when kind = 'shared' then micros end as shared_micros,
    case when account = 'team' and kind <> 'shared' then micros end as adjustment_micros,
    case when kind = 'adjustment' and detail = 'faulted' then micros end as faulted_micros
  from lines
  where kind <> 'base'
),

added as (
  select
    grouping(business_day) = 1 as over_days,
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
    select * from other_lines
  ) as either
  group by grouping sets ((business_day, team, cluster, pool, model), (cluster, workload_id, team))
),

sums as (
  select
    *,
    base_micros - computing_micros - idle_micros as unknown_micros,
    base_micros + shared_micros + adjustment_micros as owed_micros
  from added
),

by_level as (
  select
    case grouping(business_day, team, cluster)
      when 7 then 'all' when 1 then 'day' when 5 then 'team' else 'pool'
    end as level,
    business_day,
    cluster,
    pool,
    model,
    team,
    sum(columns(* exclude (
      over_days, business_day, cluster, pool, model, team, workload_id, activity_peak, power_peak
    )))
  from sums
  where not over_days
  group by grouping sets ((), (business_day, team), (team), (cluster, pool, model))
),

by_workload as (
  select
    *,
    idle_micros + stalled_micros as wasted_micros,
    idle + stalled as wasted,
    count(*) over () as workload_count
  from sums
  where over_days and workload_id is not null and held > 0
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

select * from by_level -- noqa: AM07
union all by name
select
  * exclude (over_days),
  'costliest' as level,
  row_number() over (order by owed_micros desc, held desc, cluster, workload_id, team) as place
from costliest
union all by name
select
  * exclude (over_days),
  'idlest' as level,
  row_number() over (order by wasted_micros desc, wasted desc, cluster, workload_id, team) as place
from idlest
