-- quota_states: what each team in each pool holds, is promised and waits for, between any two changes in the pool
create or replace temp table quota_states as
with
promised as (
  select q.c, q.pool, q.team, q.parts, greatest(q.s, x.from_ms) as s, least(q.e, x.until_ms) as e
  from told_quotas as q
  inner join asked_spans as x on q.c = x.c and q.s < x.until_ms and x.from_ms < q.e
  where q.s < q.e
),

waiting as (
  select d.c, d.pool, t.team, d.parts, greatest(d.s, r.s) as s, least(d.e, r.e) as e
  from told_demand as d
  inner join eras as r on d.c = r.c and d.s < r.e and r.s < d.e
  inner join teams_then as t
    on
      d.c = t.c
      and r.ruled_since = t.ruled_since
      and d.namespace = t.namespace
      and d.labels = t.labels
      and d.user_patterns = t.user_patterns
),

changes as (
  select c, pool, team, s as t, parts as held, 0 as promised, 0 as waiting from held_by_team
  union all
  select c, pool, team, e as t, -parts as held, 0 as promised, 0 as waiting from held_by_team
  union all
  select c, pool, team, s as t, 0 as held, parts as promised, 0 as waiting from promised
  union all
  select c, pool, team, e as t, 0 as held, -parts as promised, 0 as waiting from promised
  union all
  select c, pool, team, s as t, 0 as held, 0 as promised, parts as waiting from waiting
  union all
  select c, pool, team, e as t, 0 as held, 0 as promised, -parts as waiting from waiting
),

net as (
  select c, pool, team, t, sum(held)::bigint as held, sum(promised)::bigint as promised, sum(waiting)::bigint as waiting
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
  select distinct c, pool, team
  from net
),

pools as (
  select distinct c, pool
  from teams
),

instants as (
  select c, pool, t from net where held <> 0 or promised <> 0 or waiting <> 0
  union
  select n.c, n.pool, n.t
  from capacity_net as n
  semi join pools as p on n.c = p.c and n.pool = p.pool
  where n.parts <> 0
  union
  select p.c, p.pool, r.row_s as t
  from pools as p
  inner join eras as r on p.c = r.c
),

spans as (
  select
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
    x.c,
    x.pool,
    k.team,
    x.s,
    x.e,
    x.capacity,
    coalesce(sum(n.held) over w, 0)::bigint as held,
    greatest(0, coalesce(sum(n.promised) over w, 0))::bigint as promised,
    coalesce(sum(n.waiting) over w, 0)::bigint as waiting
  from spans as x
  inner join teams as k on x.c = k.c and x.pool = k.pool
  left join net as n on x.c = n.c and x.pool = n.pool and k.team = n.team and x.s = n.t
  window w as (partition by x.c, x.pool, k.team order by x.s rows unbounded preceding)
)

select
  g.c,
  g.pool,
  g.team,
  g.s,
  coalesce(g.e, a.until_ms) as e,
  r.row_s,
  r.row_e,
  g.capacity,
  g.held,
  g.promised,
  g.waiting,
  least(g.held, g.promised) as inside,
  greatest(0, g.held - g.promised) as borrowed,
  greatest(0, g.promised - g.held) as unused
from grid as g
inner join asked_spans as a on g.c = a.c
inner join eras as r on g.c = r.c and r.s <= g.s and g.s < r.e
