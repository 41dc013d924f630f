-- borrowed_pieces: which held pieces lie above their team's guarantee: those whose turn comes last
create or replace temp table borrowed_pieces as
with
teams as (
  select
    k,
    any_value(c) as c,
    any_value(pool) as pool,
    any_value(team) as team,
    max(promised) = 0 as unpromised
  from quota_states
  group by k
),

held as (
  select h.*, t.k, coalesce(t.unpromised, true) as unpromised
  from held_by_team as h
  left join teams as t on h.c = t.c and h.pool = t.pool and h.team = t.team
),

borrowing_hours as (
  select distinct k, row_s // $hour_ms as hour
  from quota_states
  where borrowed > 0
),

mixed as (
  select h.*
  from held as h
  semi join borrowing_hours as b on h.k = b.k and h.hour = b.hour
  where not h.unpromised
),

promises as (
  select k, s, row_s // $hour_ms as hour, promised
  from quota_states
  qualify promised is distinct from lag(promised) over (partition by k order by s)
),

bounds as (
  select k, hour, s as t from mixed
  union
  select k, hour, e as t from mixed
  union
  select p.k, p.hour, p.s as t
  from promises as p
  semi join borrowing_hours as b on p.k = b.k and p.hour = b.hour
),

spans as (
  select k, hour, t as s, lead(t) over (partition by k, hour order by t) as e
  from bounds
),

promised_spans as (
  select row_number() over () as g, x.k, x.hour, x.s, x.e, p.promised
  from spans as x
  asof inner join promises as p on x.k = p.k and x.s >= p.s
  where x.e is not null
),

queued as (
  select
    h.q,
    h.parts,
    x.promised,
    x.e - x.s as ms,
    sum(h.parts) over (partition by x.g order by h.turn rows unbounded preceding)::bigint as top
  from promised_spans as x
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
