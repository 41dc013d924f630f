-- shares: how the cost of what nobody held, and of what system namespaces held, is shared by teams, where there is somebody to
-- share it: largest remainder, ties by name. cost, taken, beside, spent, segments, team_weights and quota_hourly are given.
with
pots as (
  select
    c.segment,
    c.kind as detail,
    c.micros,
    case c.kind
      when 'unallocated' then s.share_unallocated
      when 'unavailable' then s.share_unavailable
      else s.share_unobserved
    end as treatment
  from cost as c
  inner join segments as s on c.segment = s.segment
  where c.kind <> 'base'
  union all by name
  select
    t.segment,
    'system' as detail,
    sum(t.micros) as micros,
    any_value(s.share_system) as treatment
  from (
    select
      segment,
      left_micros as micros
    from taken
    where is_system
    union all
    select
      b.segment,
      b.micros
    from beside as b
    inner join taken as t
      on
        t.is_system
        and b.segment = t.segment
        and b.team = t.team
        and b.workload_id is not distinct from t.workload_id
  ) as t
  inner join segments as s on t.segment = s.segment
  group by t.segment
),

-- who may share: the teams that held something in the pool that day, and those with a guarantee in it
receivers as (
  select
    cluster,
    pool,
    business_day,
    team,
    sum(held) as held,
    sum(guaranteed) as guaranteed
  from (
    select
      s.cluster,
      s.pool,
      s.business_day,
      u.team,
      u.held,
      0 as guaranteed
    from spent as u
    inner join segments as s on u.segment = s.segment
    where u.held > 0 and not u.is_system
    union all
    select
      d.cluster,
      d.pool,
      d.business_day,
      q.team,
      0 as held,
      q.guaranteed_pms as guaranteed
    from quota_hourly as q
    inner join (select distinct
      cluster,
      pool,
      business_day,
      day_start_at,
      day_end_at
    from segments) as d
      on
        q.cluster = d.cluster
        and q.pool = d.pool
        and q.row_start_at >= d.day_start_at
        and q.row_start_at < d.day_end_at
    where q.guaranteed_pms > 0
  ) as either
  group by all
),

share_weights as (
  select
    n.segment,
    n.detail,
    n.micros,
    r.team,
    case n.treatment
      when 'even' then 1
      when 'held' then r.held
      when 'weighted' then coalesce(w.weight, 1)
      else r.guaranteed
    end as part
  from pots as n
  inner join segments as s on n.segment = s.segment
  inner join receivers as r
    on s.cluster = r.cluster and s.pool is not distinct from r.pool and s.business_day = r.business_day
  left join team_weights as w on s.card = w.card and r.team = w.team
  where n.treatment in ('even', 'held', 'guarantee', 'weighted') and part > 0
),

share_floors as (
  select
    *,
    micros * part // sum(part) over shared as floor_micros,
    micros * part % sum(part) over shared as remainder
  from share_weights
  window shared as (partition by segment, detail)
)

select
  segment,
  detail,
  team,
  floor_micros
  + (
    row_number() over (partition by segment, detail order by remainder desc, team)
    <= micros - sum(floor_micros) over (partition by segment, detail)
  )::hugeint as micros
from share_floors
