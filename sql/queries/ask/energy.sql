-- how much energy each team's workloads took, for how much of the time it is known, and what it cost and emitted by the tariffs:
-- of a day on which one begins, by that which holds at noon UTC (prices energy tells it by the row)
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
with used as (
  select *
  from reporting.usage_by_day
  where
    ($from is null or day >= $from)
    and ($to is null or day <= $to)
    and ($team is null or team = $team)
),

-- the tariff of each day, if there is one
held as (
  select
    d.cluster,
    d.day,
    arg_max(t.price, (length(t.clusters), t.clusters)) as price,
    arg_max(t.currency, (length(t.clusters), t.clusters)) as currency,
    arg_max(t.pue, (length(t.clusters), t.clusters)) as pue,
    arg_max(coalesce(t.grams_per_kwh, -1), (length(t.clusters), t.clusters)) as grams
  from (
    select distinct
      cluster,
      day
    from used
  ) as d
  inner join reporting.tariffs as t
    on
      d.cluster glob t.clusters
      and epoch_ms(t.since_at) <= epoch_ms(d.day::timestamp) + 43200000
      and (t.until_at is null or epoch_ms(t.until_at) > epoch_ms(d.day::timestamp) + 43200000)
  group by d.cluster, d.day
)

select
  u.team,
  round(sum(u.energy_kwh), 3) as energy_kwh,
  round(1000.0 * sum(u.energy_kwh) / nullif(sum(u.energy_known_gpu_h), 0), 1) as mean_w_per_gpu,
  round(100.0 * sum(u.energy_known_gpu_h) / nullif(sum(u.capacity_gpu_h), 0), 1) as known_percent,
  round(sum(u.drawn), 3) as drawn_kwh,
  round(sum(u.drawn * u.price), 2) as energy_cost,
  u.currency,
  round(sum(u.drawn * u.grams) filter (where u.grams >= 0) / 1000, 3) as co2_kg
from (
  select
    w.*,
    (w.energy_kwh * t.pue)::decimal(38, 9) as drawn,
    t.price,
    t.currency,
    t.grams
  from used as w
  left join held as t on w.cluster = t.cluster and w.day = t.day
) as u
group by u.team, u.currency
order by energy_kwh desc, u.team, u.currency
