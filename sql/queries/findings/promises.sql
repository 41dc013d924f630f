-- promises: how each team used its guarantee in each pool over the window, and whether and since when it waits for it now
with
whole as (
  select
    cluster,
    pool,
    team,
    sum(e - s) as told_ms,
    sum(guaranteed_pms)::hugeint as guaranteed_pms,
    sum(within_pms)::hugeint as within_pms,
    sum(unused_pms)::hugeint as unused_pms,
    sum(lent_pms)::hugeint as lent_pms,
    min(unused_pms // greatest(1, e - s))::bigint as always_unused_parts
  from promises
  group by cluster, pool, team
),

-- the hours since the last one in which the team did not wait for what is its own; in the first of them it may have begun to
-- wait at any time, so that one does not count
marked as (
  select
    *,
    coalesce(
      max(e) filter (where least(waiting_pms, unused_pms) = 0) over (partition by cluster, pool, team),
      min(s) over (partition by cluster, pool, team)
    ) as first_ms
  from promises
),

starved as (
  select
    cluster,
    pool,
    team,
    min(s) as since_ms,
    max(e) as until_ms,
    sum(least(waiting_pms, unused_pms))::hugeint as starved_pms
  from marked
  where s > first_ms
  group by cluster, pool, team
)

select
  w.cluster,
  w.pool,
  w.team,
  w.told_ms::bigint as told_ms,
  (w.guaranteed_pms // greatest(1, w.told_ms))::bigint as guaranteed_parts,
  (w.within_pms * 1000 // nullif(w.guaranteed_pms, 0))::bigint as used_permille,
  ((w.unused_pms - w.lent_pms) * 1000 // nullif(w.guaranteed_pms, 0))::bigint as idle_permille,
  ((w.unused_pms - w.lent_pms) // greatest(1, w.told_ms))::bigint as idle_parts,
  (w.unused_pms - w.lent_pms)::bigint as idle_pms,
  w.always_unused_parts,
  s.since_ms as starving_since_ms,
  (s.starved_pms // greatest(1, $at_ms::bigint - s.since_ms))::bigint as starved_parts
from whole as w
left join starved as s
  on w.cluster = s.cluster and w.pool = s.pool and w.team = s.team and s.until_ms >= $at_ms
order by w.cluster, w.pool, w.team
