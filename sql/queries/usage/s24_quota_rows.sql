-- quota_rows: quota_hourly of the asked spans; in a pool without promises all that is held is borrowed, from what is spare
create or replace temp table quota_rows as
with
waiting as (
  select
    d.c,
    d.pool,
    t.team,
    r.row_s,
    r.row_e,
    d.parts * (least(d.e, r.e) - greatest(d.s, r.s)) as waiting_pms
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

parts as (
  select
    c,
    row_s,
    row_e,
    team,
    pool,
    promised * (e - s) as guaranteed_pms,
    held * (e - s) as held_pms,
    inside * (e - s) as within_pms,
    borrowed * (e - s) as borrowed_pms,
    lent * (e - s) as lent_pms,
    from_spare * (e - s) as from_spare_pms,
    unused * (e - s) as unused_pms
  from quota_shares
  union all by name
  select
    h.c,
    h.row_s,
    h.row_e,
    h.team,
    h.pool,
    h.parts * (h.e - h.s) as held_pms,
    h.parts * (h.e - h.s) as borrowed_pms,
    h.parts * (h.e - h.s) as from_spare_pms
  from held_by_team as h
  anti join quota_states as q on h.c = q.c and h.pool = q.pool
  union all by name
  select c, row_s, row_e, team, pool, waiting_pms
  from waiting
)

select
  k.cluster,
  p.row_s as row_start_at,
  p.row_e as row_end_at,
  p.team,
  p.pool,
  coalesce(sum(p.guaranteed_pms), 0)::bigint as guaranteed_pms,
  coalesce(sum(p.held_pms), 0)::bigint as held_pms,
  coalesce(sum(p.within_pms), 0)::bigint as within_pms,
  coalesce(sum(p.borrowed_pms), 0)::bigint as borrowed_pms,
  coalesce(sum(p.lent_pms), 0)::bigint as lent_pms,
  coalesce(sum(p.from_spare_pms), 0)::bigint as from_spare_pms,
  coalesce(sum(p.unused_pms), 0)::bigint as unused_pms,
  coalesce(sum(p.waiting_pms), 0)::bigint as waiting_pms
from parts as p
inner join asked_clusters as k on p.c = k.c
group by k.cluster, p.row_s, p.row_e, p.team, p.pool
having guaranteed_pms > 0 or held_pms > 0 or waiting_pms > 0
