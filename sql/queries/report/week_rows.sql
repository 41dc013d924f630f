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
    held_pms::hugeint as held,
    computing_pms::hugeint as computing,
    idle_pms::hugeint as idle,
    unknown_pms::hugeint as unknown,
    unallocated_pms::hugeint as unallocated,
    unavailable_pms::hugeint as unavailable,
    unobserved_pms::hugeint as unobserved,
    stalled_pms::hugeint as stalled,
    faulted_pms::hugeint as faulted,
    not_started_pms::hugeint as not_started,
    estimated_pms::hugeint as estimated,
    overbooked_pms::hugeint as overbooked,
    energy_j::hugeint as energy_j,
    energy_known_pms::hugeint as energy_known,
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
    case when kind in ('base', 'unallocated', 'unavailable', 'unobserved') then quantity end as charged,
    case when kind = 'base' then micros end as base_micros,
    case when kind = 'unallocated' then micros end as unallocated_micros,
    case when kind = 'unavailable' then micros end as unavailable_micros,
    case when kind = 'unobserved' then micros end as unobserved_micros,
    case when kind = 'shared' then micros end as shared_micros,
    case when account = 'team' and kind not in ('base', 'shared') then micros end as adjustment_micros
  from week_charges
  where in_week
),

met as (
  select
    business_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    coalesce(sum(held), 0) as held,
    coalesce(sum(computing), 0) as computing,
    coalesce(sum(idle), 0) as idle,
    coalesce(sum(unknown), 0) as unknown,
    coalesce(sum(unallocated), 0) as unallocated,
    coalesce(sum(unavailable), 0) as unavailable,
    coalesce(sum(unobserved), 0) as unobserved,
    coalesce(sum(stalled), 0) as stalled,
    coalesce(sum(faulted), 0) as faulted,
    coalesce(sum(not_started), 0) as not_started,
    coalesce(sum(estimated), 0) as estimated,
    coalesce(sum(overbooked), 0) as overbooked,
    coalesce(sum(energy_j), 0) as energy_j,
    coalesce(sum(energy_known), 0) as energy_known,
    coalesce(sum(activity), 0) as activity,
    max(activity_peak) as activity_peak,
    max(power_peak) as power_peak,
    coalesce(sum(charged), 0) as charged,
    coalesce(sum(base_micros), 0) as base_micros,
    coalesce(sum(unallocated_micros), 0) as unallocated_micros,
    coalesce(sum(unavailable_micros), 0) as unavailable_micros,
    coalesce(sum(unobserved_micros), 0) as unobserved_micros,
    coalesce(sum(shared_micros), 0) as shared_micros,
    coalesce(sum(adjustment_micros), 0) as adjustment_micros
  from (
    select * from used
    union all by name
    select * from charged
  ) as both_sides
  group by all
)

select
  *,
  case when held > 0 then base_micros * computing // held else 0 end as computing_micros,
  case when held > 0 then base_micros * (computing + idle) // held else 0 end - computing_micros as idle_micros,
  base_micros - computing_micros - idle_micros as unknown_micros,
  case when held > 0 then base_micros * stalled // held else 0 end as stalled_micros,
  base_micros + shared_micros + adjustment_micros as owed_micros
from met
