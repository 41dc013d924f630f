-- hours: what a team held in each hour of [$start_at, $end_at), by state, and what it was promised then, in part-milliseconds
with
used as (
  select
    date_trunc('hour', row_start_at) as hour_at,
    sum(computing_pms)::hugeint as computing,
    sum(idle_pms)::hugeint as idle,
    sum(unknown_pms)::hugeint as unknown
  from usage_hourly
  where row_start_at >= $start_at and row_start_at < $end_at and team = $team and held_pms > 0
  group by all
),

promised as (
  select
    date_trunc('hour', row_start_at) as hour_at,
    sum(guaranteed_pms)::hugeint as guaranteed,
    sum(borrowed_pms)::hugeint as borrowed,
    sum(lent_pms)::hugeint as lent,
    sum(waiting_pms)::hugeint as waiting
  from quota_hourly
  where row_start_at >= $start_at and row_start_at < $end_at and team = $team
  group by all
)

select
  epoch_ms(coalesce(u.hour_at, p.hour_at)) as hour_ms,
  coalesce(u.computing, 0) as computing,
  coalesce(u.idle, 0) as idle,
  coalesce(u.unknown, 0) as unknown,
  coalesce(p.guaranteed, 0) as guaranteed,
  coalesce(p.borrowed, 0) as borrowed,
  coalesce(p.lent, 0) as lent,
  coalesce(p.waiting, 0) as waiting
from used as u
full outer join promised as p on u.hour_at = p.hour_at
order by hour_ms
