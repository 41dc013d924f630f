-- quota_states: what each team in each pool with promises holds and is promised, between any two changes in the pool
create or replace temp table quota_states as
with
promised as (
  select q.c, q.pool, q.team, q.parts, greatest(q.s, x.from_ms) as s, least(q.e, x.until_ms) as e
  from told_quotas as q
  inner join asked_spans as x on q.c = x.c and q.s < x.until_ms and x.from_ms < q.e
  where q.s < q.e
),

promised_pools as (
  select distinct c, pool
  from promised
),

changes as (
  select h.c, h.pool, h.team, unnest([h.s, h.e]) as t, unnest([h.parts, -h.parts]) as held, 0 as promised
  from held_by_team as h
  semi join promised_pools as p on h.c = p.c and h.pool = p.pool
  union all
  select c, pool, team, unnest([s, e]) as t, 0 as held, unnest([parts, -parts]) as promised
  from promised
),

net as (
  select c, pool, team, t, sum(held)::bigint as held, sum(promised)::bigint as promised
  from changes
  group by all
),

capacity_changes as (
  select c, pool, s as t, parts from here
  union all
  select c, pool, e as t, -parts as parts from here
),

capacity_net as (
  select c, pool, t, sum(parts)::bigint as parts
  from capacity_changes
  group by all
),

teams as (
  select c, pool, team, row_number() over (order by c, pool, team) as k
  from (select distinct c, pool, team from net) as x
),

instants as (
  select c, pool, t
  from net
  where held <> 0 or promised <> 0
  union
  select n.c, n.pool, n.t
  from capacity_net as n
  semi join promised_pools as p on n.c = p.c and n.pool = p.pool
  where n.parts <> 0
  union
  select p.c, p.pool, r.row_s as t
  from promised_pools as p
  inner join eras as r on p.c = r.c
),

spans as (
  select
    row_number() over () as i,
    i.c,
    i.pool,
    i.t as s,
    lead(i.t) over w as e,
    coalesce(sum(n.parts) over (w rows unbounded preceding), 0)::bigint as capacity
  from instants as i
  left join capacity_net as n on i.c = n.c and i.pool = n.pool and i.t = n.t
  window w as (partition by i.c, i.pool order by i.t)
),

grid as (
  select
    x.i,
    k.k,
    k.team,
    coalesce(sum(n.held) over w, 0)::bigint as held,
    greatest(0, coalesce(sum(n.promised) over w, 0))::bigint as promised
  from spans as x
  inner join teams as k on x.c = k.c and x.pool = k.pool
  left join net as n on x.c = n.c and x.pool = n.pool and k.team = n.team and x.s = n.t
  window w as (partition by k.k order by x.s rows unbounded preceding)
)

select
  g.i,
  g.k,
  x.c,
  x.pool,
  g.team,
  x.s,
  coalesce(x.e, a.until_ms) as e,
  r.row_s,
  r.row_e,
  x.capacity,
  g.held,
  g.promised,
  least(g.held, g.promised) as inside,
  greatest(0, g.held - g.promised) as borrowed,
  greatest(0, g.promised - g.held) as unused
from grid as g
inner join spans as x on g.i = x.i
inner join asked_spans as a on x.c = a.c
inner join eras as r on x.c = r.c and r.s <= x.s and x.s < r.e
where x.s < coalesce(x.e, a.until_ms)
