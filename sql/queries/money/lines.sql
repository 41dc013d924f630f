-- lines: the usage of segments (a business day of a pool and model while one rate holds) as lines of cost, in whole millionths.
-- Per segment: base + unallocated + unavailable + unobserved = capacity × price, rounded once; every other line has its counter-line.
-- segments(segment, cluster, pool, model, business_day, day_start_at, day_end_at, start_at, end_at, rate_id, price_nano, currency,
--   share_unallocated, share_unavailable, share_unobserved, bill_faulted) is given; $nano_gpu_hour_pms is a GPU-hour × 1000.
with
usage as (
  select
    s.segment,
    coalesce(u.team, '') as team,
    u.workload_id,
    sum(u.held_pms) as held,
    sum(u.unallocated_pms) as unallocated,
    sum(u.unavailable_pms) as unavailable,
    sum(u.unobserved_pms) as unobserved,
    sum(u.faulted_pms) as faulted
  from usage_hourly as u
  inner join segments as s
    on
      u.cluster = s.cluster
      and u.pool is not distinct from s.pool
      and u.model is not distinct from s.model
      and u.row_start_at >= s.start_at
      and u.row_start_at < s.end_at
  group by all
),

pool_cost as (
  select
    s.segment,
    sum(u.held + u.unallocated + u.unavailable + u.unobserved) as quantity,
    (sum(u.held + u.unallocated + u.unavailable + u.unobserved) * any_value(s.price_nano) + $nano_gpu_hour_pms // 2)
    // $nano_gpu_hour_pms as micros
  from usage as u
  inner join segments as s on u.segment = s.segment
  group by s.segment
  having quantity > 0
),

-- who had the time: each team's workloads what they held, and nobody the rest
weights as (
  select
    segment,
    'base' as kind,
    team,
    workload_id,
    held as weight,
    faulted
  from usage
  where held > 0
  union all by name
  select
    segment,
    kind,
    '' as team,
    null::bigint as workload_id,
    sum(weight) as weight,
    0 as faulted
  from usage unpivot (weight for kind in (unallocated, unavailable, unobserved))
  where weight > 0
  group by all
),

floors as (
  select
    w.*,
    p.micros,
    p.micros * w.weight // p.quantity as floor_micros,
    p.micros * w.weight % p.quantity as remainder
  from weights as w
  inner join pool_cost as p on w.segment = p.segment
),

cost as (
  select
    segment,
    kind,
    team,
    workload_id,
    weight,
    faulted,
    floor_micros
    + (
      row_number() over (partition by segment order by remainder desc, kind, team, workload_id)
      <= micros - sum(floor_micros) over (partition by segment)
    )::hugeint as micros
  from floors
),

-- what the card does with the cost of what nobody held
nobodys as (
  select
    c.segment,
    c.kind,
    c.micros,
    s.cluster,
    s.pool,
    s.business_day,
    case c.kind
      when 'unallocated' then s.share_unallocated
      when 'unavailable' then s.share_unavailable
      else s.share_unobserved
    end as treatment
  from cost as c
  inner join segments as s on c.segment = s.segment
  where c.kind <> 'base'
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
    from usage as u
    inner join segments as s on u.segment = s.segment
    where u.held > 0
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
    n.kind,
    n.micros,
    r.team,
    case n.treatment when 'even' then 1 when 'held' then r.held else r.guaranteed end as weight
  from nobodys as n
  inner join receivers as r
    on n.cluster = r.cluster and n.pool is not distinct from r.pool and n.business_day = r.business_day
  where n.treatment in ('even', 'held', 'guarantee') and weight > 0
),

share_floors as (
  select
    *,
    micros * weight // sum(weight) over shared as floor_micros,
    micros * weight % sum(weight) over shared as remainder
  from share_weights
  window shared as (partition by segment, kind)
),

shares as (
  select
    segment,
    kind,
    team,
    floor_micros
    + (
      row_number() over (partition by segment, kind order by remainder desc, team)
      <= micros - sum(floor_micros) over (partition by segment, kind)
    )::hugeint as micros
  from share_floors
),

-- what is taken off: faulted time, unless the card bills it, and lines that nobody is asked to pay
taken_off as (
  select
    c.segment,
    'team' as account,
    'faulted' as detail,
    c.team,
    c.workload_id,
    c.faulted as quantity,
    c.micros * c.faulted // c.weight as micros
  from cost as c
  inner join segments as s on c.segment = s.segment
  where c.faulted > 0 and not s.bill_faulted
  union all by name
  select
    segment,
    'own' as account,
    kind as detail,
    '' as team,
    null::bigint as workload_id,
    0 as quantity,
    micros
  from nobodys
  where treatment = 'none'
),

lines as (
  select
    segment,
    kind,
    case kind when 'base' then 'team' else 'own' end as account,
    '' as detail,
    team,
    workload_id,
    weight as quantity,
    micros
  from cost
  union all by name
  select
    segment,
    'shared' as kind,
    'team' as account,
    kind as detail,
    team,
    null::bigint as workload_id,
    0 as quantity,
    micros
  from shares
  union all by name
  select
    segment,
    'adjustment' as kind,
    account,
    detail,
    team,
    workload_id,
    -quantity as quantity,
    -micros as micros
  from taken_off
  union all by name
  select
    segment,
    'clearing' as kind,
    'clearing' as account,
    detail,
    '' as team,
    null::bigint as workload_id,
    sum(quantity) as quantity,
    sum(micros) as micros
  from (
    select
      segment,
      kind as detail,
      0 as quantity,
      -micros as micros
    from shares
    union all
    select
      segment,
      detail,
      quantity,
      micros
    from taken_off
  ) as counter
  group by all
)

select
  (
    md5_number_lower(
      to_json(
        [
          s.cluster, s.business_day, s.pool, s.model, epoch_ms(s.start_at)::varchar,
          l.kind, l.account, l.detail, l.team, l.workload_id::varchar
        ]
      )::varchar
    ) >> 1
  )::bigint as charge_id,
  s.cluster,
  s.business_day,
  s.pool,
  s.model,
  nullif(l.team, '') as team,
  l.workload_id,
  l.kind,
  l.account,
  l.quantity::decimal(38, 0) as quantity_pms,
  s.price_nano::decimal(27, 0) * 0.000000001::decimal(9, 9) as unit_price,
  l.micros::decimal(28, 0) * 0.000001::decimal(6, 6) as amount,
  s.currency,
  s.rate_id,
  null::bigint as corrects,
  l.detail,
  'gpu_hour' as measure,
  null::decimal(38, 6) as quantity
from lines as l
inner join segments as s on l.segment = s.segment
