-- week_rows: usage and cost (of week_charges) of the days from $first_day to $last_day (of $team; null: of all), one row for each
-- day, pool, model, team and workload. Team and workload are null for what nobody held. Costs are in millionths; that of held
-- time is split by the differences of floors of the running amount, so that computing + idle + unknown = base.
with
used as (
  select
    business_day,
    cluster,
    pool,
    model,
    nullif(team, '') as team,
    workload_id,
    held_pms::bigint as held,
    computing_pms::bigint as computing,
    idle_pms::bigint as idle,
    unknown_pms::bigint as unknown,
    unallocated_pms::bigint as unallocated,
    unavailable_pms::bigint as unavailable,
    unobserved_pms::bigint as unobserved,
    stalled_pms::bigint as stalled,
    faulted_pms::bigint as faulted,
    not_started_pms::bigint as not_started,
    estimated_pms::bigint as estimated,
    overbooked_pms::bigint as overbooked,
    energy_j::bigint as energy_j,
    energy_known_pms::bigint as energy_known,
    activity_permille_pms::hugeint as activity,
    activity_peak_permille as activity_peak,
    power_peak_dw as power_peak
  from usage_daily
  where business_day between $first_day and $last_day and ($team is null or team = $team)
),

charged as (
  select
    business_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    sum(quantity_pms) filter (where kind in ('base', 'unallocated', 'unavailable', 'unobserved')) as charged,
    sum(amount) filter (where kind = 'base') as base_cost,
    sum(amount) filter (where kind = 'unallocated') as unallocated_cost,
    sum(amount) filter (where kind = 'unavailable') as unavailable_cost,
    sum(amount) filter (where kind = 'unobserved') as unobserved_cost,
    sum(amount) filter (where kind = 'shared') as shared_cost,
    sum(amount) filter (where account = 'team' and kind not in ('base', 'shared')) as adjustment_cost
  from week_charges
  where in_week
  group by all
),

met as (
  select
    coalesce(u.business_day, c.business_day) as business_day,
    coalesce(u.cluster, c.cluster) as cluster,
    coalesce(u.pool, c.pool) as pool,
    coalesce(u.model, c.model) as model,
    coalesce(u.team, c.team) as team,
    coalesce(u.workload_id, c.workload_id) as workload_id,
    coalesce(u.held, 0) as held,
    coalesce(u.computing, 0) as computing,
    coalesce(u.idle, 0) as idle,
    coalesce(u.unknown, 0) as unknown,
    coalesce(u.unallocated, 0) as unallocated,
    coalesce(u.unavailable, 0) as unavailable,
    coalesce(u.unobserved, 0) as unobserved,
    coalesce(u.stalled, 0) as stalled,
    coalesce(u.faulted, 0) as faulted,
    coalesce(u.not_started, 0) as not_started,
    coalesce(u.estimated, 0) as estimated,
    coalesce(u.overbooked, 0) as overbooked,
    coalesce(u.energy_j, 0) as energy_j,
    coalesce(u.energy_known, 0) as energy_known,
    coalesce(u.activity, 0) as activity,
    u.activity_peak,
    u.power_peak,
    coalesce(c.charged, 0)::bigint as charged,
    coalesce(c.base_cost * 1000000, 0)::hugeint as base_micros,
    coalesce(c.unallocated_cost * 1000000, 0)::bigint as unallocated_micros,
    coalesce(c.unavailable_cost * 1000000, 0)::bigint as unavailable_micros,
    coalesce(c.unobserved_cost * 1000000, 0)::bigint as unobserved_micros,
    coalesce(c.shared_cost * 1000000, 0)::bigint as shared_micros,
    coalesce(c.adjustment_cost * 1000000, 0)::bigint as adjustment_micros
  from used as u
  full outer join charged as c
    on
      u.business_day = c.business_day
      and u.cluster = c.cluster
      and u.pool is not distinct from c.pool
      and u.model is not distinct from c.model
      and u.team is not distinct from c.team
      and u.workload_id is not distinct from c.workload_id
)

select
  *,
  case when held > 0 then base_micros * computing // held else 0 end::bigint as computing_micros,
  (case when held > 0 then base_micros * (computing + idle) // held else 0 end - computing_micros)::bigint as idle_micros,
  (base_micros - computing_micros - idle_micros)::bigint as unknown_micros,
  case when held > 0 then base_micros * stalled // held else 0 end::bigint as stalled_micros,
  (base_micros + shared_micros + adjustment_micros)::bigint as owed_micros
from met
