-- energy: the electricity of what each workload held, where its card bills it: what the counters told × PUE × price, each line
-- rounded once. What no counter told is not billed. segments, profiles and tariff_spans(cluster, start_at, end_at, kwh_nano,
-- pue_permille) are given. A kilowatt-hour is 3,600,000 J.
with
billed as (
  select *
  from segments
  where rate_id is not null and bill_energy
),

metered as (
  select
    s.segment,
    coalesce(u.team, '') as team,
    u.workload_id,
    t.kwh_nano,
    t.pue_permille,
    sum(u.energy_j)::hugeint as energy_j
  from usage_hourly as u
  left join profiles as f on u.cluster = f.cluster and u.device_id = f.device_id
  inner join billed as s
    on
      u.cluster = s.cluster
      and u.pool is not distinct from s.pool
      and u.model is not distinct from s.model
      and coalesce(f.profile, '') = s.profile
      and u.row_start_at >= s.start_at
      and u.row_start_at < s.end_at
  inner join tariff_spans as t
    on u.cluster = t.cluster and u.row_start_at >= t.start_at and u.row_start_at < t.end_at
  where u.held_pms > 0 and u.energy_j > 0
  group by all
)

select
  segment,
  team,
  workload_id,
  kwh_nano,
  (energy_j * pue_permille * 1000 + 1800000) // 3600000 as quantity_micro,
  (energy_j * pue_permille * kwh_nano + 1800000000000) // 3600000000000 as micros
from metered
