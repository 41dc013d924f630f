-- borrowed_pieces: which held pieces lie above their team's guarantee: those whose turn comes last
create or replace temp table borrowed_pieces as
with
teams as (
  select
    c,
    pool,
    team,
    max(promised) = 0 as unpromised,
    bool_or(borrowed > 0) as borrows
  from quota_states
  group by c, pool, team
),

mixed as (
  select h.*
  from held_by_team as h
  inner join teams as t on h.c = t.c and h.pool = t.pool and h.team = t.team
  where t.borrows and not t.unpromised
),

bounds as (
  select c, pool, team, hour, s as t from mixed
  union
  select c, pool, team, hour, e as t from mixed
  union
  select q.c, q.pool, q.team, q.row_s // $hour_ms as hour, q.s as t
  from quota_states as q
  inner join teams as t on q.c = t.c and q.pool = t.pool and q.team = t.team
  where t.borrows and not t.unpromised
  qualify q.promised is distinct from lag(q.promised) over (partition by q.c, q.pool, q.team order by q.s)
),

spans as (
  select c, pool, team, hour, t as s, lead(t) over (partition by c, pool, team, hour order by t) as e
  from bounds
),

over_promise as (
  select row_number() over () as g, x.c, x.pool, x.team, x.hour, x.s, x.e, q.promised
  from spans as x
  asof inner join quota_states as q on x.c = q.c and x.pool = q.pool and x.team = q.team and x.s >= q.s
  where x.e is not null and q.borrowed > 0
),

queued as (
  select
    h.q,
    h.parts,
    x.promised,
    x.e - x.s as ms,
    sum(h.parts) over (partition by x.g order by h.turn rows unbounded preceding)::bigint as top
  from over_promise as x
  inner join mixed as h
    on x.c = h.c and x.pool = h.pool and x.team = h.team and x.hour = h.hour and h.s <= x.s and x.e <= h.e
)

select q, sum(least(parts, top - promised) * ms)::bigint as borrowed_pms
from queued
where top > promised
group by q
union all
select h.q, h.parts * (h.e - h.s) as borrowed_pms
from held_by_team as h
inner join teams as t on h.c = t.c and h.pool = t.pool and h.team = t.team
where t.unpromised
