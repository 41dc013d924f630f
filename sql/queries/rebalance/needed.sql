-- needed: what each team held and waited for at once in a pool, the highest of its hours once the $rare_permille
-- highest of all hours are left out; and of how many hours that is. An hour without a row of the team's is none.
with
told as (
  select
    row_start_at,
    team,
    pool,
    -- rounded up: what is not needed is given away
    (held_pms + waiting_pms + epoch_ms(row_end_at) - epoch_ms(row_start_at) - 1)
    // (epoch_ms(row_end_at) - epoch_ms(row_start_at)) as parts
  from quota_hourly
  where
    cluster = $cluster
    and row_start_at >= make_timestamptz($from_ms::bigint * 1000)
    and row_end_at <= make_timestamptz($until_ms::bigint * 1000)
    and row_start_at < row_end_at
),

hours as (
  select count(distinct date_trunc('hour', row_start_at)) as hours
  from told
),

highest as (
  select team, pool, date_trunc('hour', row_start_at) as hour, max(parts) as parts
  from told
  group by all
),

ranked as (
  select *, row_number() over (partition by team, pool order by parts desc) as place
  from highest
)

select
  r.team,
  r.pool,
  any_value(h.hours) as hours,
  coalesce(max(r.parts) filter (where r.place > h.hours * $rare_permille::int // 1000), 0)::bigint as parts
from ranked as r
cross join hours as h
group by r.team, r.pool
order by r.pool, r.team
