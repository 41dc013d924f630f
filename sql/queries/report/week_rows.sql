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

charged as (
  select
    business_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    sum(quantity_pms) filter (where kind in ('base', 'unallocated', 'unavailable', 'unobserved')) as charged,
    (sum(amount) filter (where kind = 'base') * 1000000)::bigint as base_micros,
    (sum(amount) filter (where kind = 'unallocated') * 1000000)::bigint as unallocated_micros,
    (sum(amount) filter (where kind = 'unavailable') * 1000000)::bigint as unavailable_micros,
    (sum(amount) filter (where kind = 'unobserved') * 1000000)::bigint as unobserved_micros,
    (sum(amount) filter (where kind = 'shared') * 1000000)::bigint as shared_micros,
    (sum(amount) filter (where account = 'team' and kind not in ('base', 'shared')) * 1000000)::bigint as adjustment_micros
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
    coalesce(c.charged, 0) as charged,
    coalesce(c.base_micros, 0) as base_micros,
    coalesce(c.unallocated_micros, 0) as unallocated_micros,
    coalesce(c.unavailable_micros, 0) as unavailable_micros,
    coalesce(c.unobserved_micros, 0) as unobserved_micros,
    coalesce(c.shared_micros, 0) as shared_micros,
    coalesce(c.adjustment_micros, 0) as adjustment_micros
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

-- whole-number division of wide numbers is dear: it is done only where the answer is not plain
select
  *,
  case
    when computing = 0 then 0
    when computing = held then base_micros
    else base_micros::hugeint * computing::hugeint // held::hugeint
  end::bigint as computing_micros,
  case
    when unknown = held then 0
    when unknown = 0 then base_micros
    else base_micros::hugeint * (computing + idle)::hugeint // held::hugeint
  end::bigint - computing_micros as idle_micros,
  base_micros - computing_micros - idle_micros as unknown_micros,
  case when stalled = 0 then 0 else base_micros::hugeint * stalled::hugeint // held::hugeint end::bigint as stalled_micros,
  base_micros + shared_micros + adjustment_micros as owed_micros
from met
