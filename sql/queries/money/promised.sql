-- promised: what each team was guaranteed, and what of it others held, by segment: spread over the models and profiles of the
-- pool at that time by their capacity, largest remainder. Of the pools of which a segment has a price for it.
-- segments, spent and quota_hourly are given.
with
sizes as (
  select
    s.segment,
    s.cluster,
    s.pool,
    s.start_at,
    s.end_at,
    greatest(
      1,
      sum(u.held + u.unallocated + u.unavailable + u.unobserved) * 1000
      // (epoch_ms(s.end_at) - epoch_ms(s.start_at))
    ) as size
  from segments as s
  inner join spent as u on s.segment = u.segment
  where
    exists (
      select 1
      from segments as o
      where
        o.cluster = s.cluster and o.pool = s.pool and (o.reserved_nano is not null or o.lent_nano is not null)
    )
  group by s.segment, s.cluster, s.pool, s.start_at, s.end_at
  having sum(u.held + u.unallocated + u.unavailable + u.unobserved) > 0
),

met as (
  select
    z.segment,
    q.team,
    q.cluster,
    q.pool,
    q.row_start_at,
    z.size,
    sum(z.size) over same_row as whole,
    q.guaranteed_pms * z.size // whole as guaranteed_floor,
    q.guaranteed_pms * z.size % whole as guaranteed_remainder,
    q.guaranteed_pms,
    q.lent_pms * z.size // whole as lent_floor,
    q.lent_pms * z.size % whole as lent_remainder,
    q.lent_pms
  from quota_hourly as q
  inner join sizes as z
    on q.cluster = z.cluster and q.pool = z.pool and q.row_start_at >= z.start_at and q.row_start_at < z.end_at
  where q.guaranteed_pms > 0
  window same_row as (partition by q.cluster, q.pool, q.team, q.row_start_at)
),

shared as (
  select
    segment,
    team,
    guaranteed_floor
    + (
      row_number() over (same_row order by guaranteed_remainder desc, segment)
      <= guaranteed_pms - sum(guaranteed_floor) over same_row
    )::hugeint as guaranteed,
    lent_floor
    + (
      row_number() over (same_row order by lent_remainder desc, segment) <= lent_pms - sum(lent_floor) over same_row
    )::hugeint as lent
  from met
  window same_row as (partition by cluster, pool, team, row_start_at)
)

select
  segment,
  team,
  sum(guaranteed) as guaranteed,
  sum(lent) as lent
from shared
group by all
