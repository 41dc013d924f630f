-- borrowed_pieces: which held pieces lie above their team's guarantee: those whose turn comes last
create or replace temp table borrowed_pieces as
with
teams as (
  select
    k,
    any_value(c) as c,
    any_value(pool) as pool,
    any_value(team) as team,
    max(promised) = 0 as unpromised,
    bool_or(borrowed > 0) as borrows
  from quota_states
  group by k
),

held as (
  select h.*, t.k, coalesce(t.unpromised, true) as unpromised, coalesce(t.borrows, true) as borrows
  from held_by_team as h
  left join teams as t on h.c = t.c and h.pool = t.pool and h.team = t.team
),

mixed as (
  select * from held
  where borrows and not unpromised
),

bounds as (
  select k, hour, s as t from mixed
  union
  select k, hour, e as t from mixed
  union
  select q.k, q.row_s // $hour_ms as hour, q.s as t
  from quota_states as q
  inner join teams as t on q.k = t.k and t.borrows and not t.unpromised
  qualify q.promised is distinct from lag(q.promised) over (partition by q.k order by q.s)
),

spans as (
  select k, hour, t as s, lead(t) over (partition by k, hour order by t) as e
  from bounds
),

over_promise as (
  select row_number() over () as g, x.k, x.hour, x.s, x.e, q.promised
  from spans as x
  asof inner join quota_states as q on x.k = q.k and x.s >= q.s
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
  inner join mixed as h on x.k = h.k and x.hour = h.hour and h.s <= x.s and x.e <= h.e
)

select q, sum(least(parts, top - promised) * ms)::bigint as borrowed_pms
from queued
where top > promised
group by q
union all
select q, parts * (e - s) as borrowed_pms
from held
where unpromised
