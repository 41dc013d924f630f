-- energy_used: the electricity of what was held on the days from $start_at to $end_at, by team, pool and workload: what the
-- counters told, × PUE what the building drew, its cost and its CO2. What no counter told is not known: null, and known_permille
-- says of how much of the time it is. tariff_spans(cluster, start_at, end_at, kwh_nano, pue_permille, currency, grams_micro) is
-- given; carbon of an hour, as it was told last, comes before the tariff's.
with
used as (
  select
    cluster,
    row_start_at,
    pool,
    coalesce(team, '') as team,
    workload_id,
    sum(energy_j)::hugeint as energy_j,
    sum(energy_known_pms)::hugeint as known_pms,
    sum(held_pms)::hugeint as held_pms
  from usage_hourly
  where row_start_at >= $start_at and row_start_at < $end_at and held_pms > 0
  group by all
),

hours as (
  select distinct
    cluster,
    row_start_at
  from used
),

emitted as (
  select
    h.cluster,
    h.row_start_at,
    arg_max(c.grams_per_kwh, (c.recorded_at, c.start_at)) as grams
  from hours as h
  inner join carbon as c on h.cluster = c.cluster and h.row_start_at >= c.start_at and h.row_start_at < c.end_at
  group by all
),

priced as (
  select
    h.cluster,
    h.row_start_at,
    t.pue_permille,
    t.kwh_nano,
    t.currency,
    coalesce((e.grams * 1000000)::bigint, t.grams_micro) as grams_micro
  from hours as h
  left join tariff_spans as t
    on h.cluster = t.cluster and h.row_start_at >= t.start_at and h.row_start_at < t.end_at
  left join emitted as e on h.cluster = e.cluster and h.row_start_at = e.row_start_at
),

-- in joules × PUE, and these × price and × grams; null as soon as a part of it is not known
sums as (
  select
    u.cluster,
    u.pool,
    u.team,
    u.workload_id,
    any_value(p.currency) as currency,
    sum(u.held_pms) as held_pms,
    sum(u.known_pms) as known_pms,
    sum(u.energy_j) as energy_j,
    case when count(p.pue_permille) = count(*) then sum(u.energy_j * p.pue_permille) end as drawn,
    case
      when count(p.kwh_nano) = count(*) and count(distinct p.currency) = 1
        then sum(u.energy_j * p.pue_permille * p.kwh_nano)
    end as priced,
    case
      when count(p.grams_micro) = count(*) and count(p.pue_permille) = count(*)
        then sum(u.energy_j * p.pue_permille * p.grams_micro)
    end as emitted
  from used as u
  inner join priced as p on u.cluster = p.cluster and u.row_start_at = p.row_start_at
  group by u.cluster, u.pool, u.team, u.workload_id
)

select
  cluster,
  pool,
  nullif(team, '') as team,
  workload_id,
  held_pms,
  known_pms,
  currency,
  case when known_pms > 0 then energy_j end as energy_j,
  case when known_pms > 0 then (drawn * 1000 + 1800000) // 3600000 end as drawn_micro_kwh,
  case when known_pms > 0 then (priced + 1800000000000) // 3600000000000 end as cost_micros,
  case when known_pms > 0 then (emitted + 1800000000000) // 3600000000000 end as emitted_mg
from sums
order by cluster, pool, team, workload_id
