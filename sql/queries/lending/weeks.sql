-- weeks: what became of each team's guarantee, in each of some spans: what it lent, borrowed, and waited for; owed is what it
-- waited for within its guarantee, and away the part of that which others held meanwhile
with
spans as (
  select
    unnest($starts::bigint[]) as start_ms,
    unnest($ends::bigint[]) as end_ms
),

hours as (
  select
    row_start_at,
    team,
    guaranteed_pms,
    held_pms,
    borrowed_pms,
    lent_pms,
    waiting_pms,
    least(waiting_pms, greatest(guaranteed_pms - within_pms, 0)) as owed_pms
  from quota_hourly
  where
    row_start_at >= make_timestamptz(list_min($starts::bigint[]) * 1000)
    and row_start_at < make_timestamptz(list_max($ends::bigint[]) * 1000)
    and ($teams is null or list_contains($teams::varchar[], team))
)

select
  s.start_ms,
  h.team,
  sum(h.guaranteed_pms)::bigint as guaranteed_pms,
  sum(h.held_pms)::bigint as held_pms,
  sum(h.borrowed_pms)::bigint as borrowed_pms,
  sum(h.lent_pms)::bigint as lent_pms,
  sum(h.waiting_pms)::bigint as waiting_pms,
  sum(h.owed_pms)::bigint as owed_pms,
  sum(least(h.owed_pms, h.lent_pms))::bigint as away_pms
from hours as h
inner join spans as s
  on
    h.row_start_at >= make_timestamptz(s.start_ms * 1000)
    and h.row_start_at < make_timestamptz(s.end_ms * 1000)
group by s.start_ms, h.team
order by s.start_ms, h.team
