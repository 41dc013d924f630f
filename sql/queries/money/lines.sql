-- lines: all lines of cost, in whole millionths: who had it, what is taken off and added, what is shared; everything but base
-- and nobody's lines has its counter-line on the account clearing, so that all lines together are the pools' cost.
-- cost, beside, taken, promised, shares, energy, commitments and segments are given; $nano_gpu_hour_pms is a GPU-hour × 1000.
with
-- what becomes of a base line, one adjustment a row
changed as (
  select
    segment,
    team,
    workload_id,
    change.detail,
    change.quantity,
    change.micros
  from (
    select
      segment,
      team,
      workload_id,
      unnest([
        { 'detail': 'faulted', 'quantity': -faulted, 'micros': -faulted_off },
        { 'detail': 'lost', 'quantity': -lost, 'micros': -lost_off },
        { 'detail': 'preemptible', 'quantity': preemptible, 'micros': preemptible_on - preemptible_off },
        { 'detail': 'borrowed', 'quantity': borrowed, 'micros': borrowed_on - borrowed_off },
        { 'detail': 'commitment', 'quantity': -committed, 'micros': -commitment_off },
        { 'detail': 'discount', 'quantity': 0, 'micros': -discount_off },
        { 'detail': 'idle', 'quantity': idle, 'micros': idle_on }
      ]) as change
    from taken
    where
      faulted > 0 or lost > 0 or preemptible > 0 or borrowed > 0 or commitment_off > 0 or committed > 0
      or idle > 0 or discount_off > 0
  ) as listed
  where change.quantity <> 0 or change.micros <> 0
),

of_promises as (
  select
    p.segment,
    p.team,
    'reserved' as detail,
    p.guaranteed as quantity,
    (s.reserved_nano * p.guaranteed + $nano_gpu_hour_pms // 2) // $nano_gpu_hour_pms as micros
  from promised as p
  inner join segments as s on p.segment = s.segment
  where s.reserved_nano is not null and p.guaranteed > 0
  union all by name
  select
    p.segment,
    p.team,
    'lent' as detail,
    -p.lent as quantity,
    -(s.lent_nano * p.lent // $nano_gpu_hour_pms) as micros
  from promised as p
  inner join segments as s on p.segment = s.segment
  where s.lent_nano is not null and p.lent > 0
),

-- what a team held in system namespaces is no longer its own, where it is shared or nobody's
of_systems as (
  select
    t.segment,
    t.team,
    t.workload_id,
    'system' as detail,
    0 as quantity,
    -(t.left_micros + coalesce(b.micros, 0)) as micros
  from taken as t
  inner join segments as s on t.segment = s.segment
  left join (
    select
      segment,
      team,
      workload_id,
      sum(micros) as micros
    from beside
    group by all
  ) as b
    on t.segment = b.segment and t.team = b.team and t.workload_id is not distinct from b.workload_id
  where
    t.is_system
    and (
      s.share_system = 'none' or exists (
        select 1 from shares as h
        where h.segment = t.segment and h.detail = 'system'
      )
    )
),

of_nobody as (
  select
    c.segment,
    c.kind as detail,
    -c.micros as micros
  from cost as c
  inner join segments as s on c.segment = s.segment
  where
    case c.kind
      when 'unallocated' then s.share_unallocated
      when 'unavailable' then s.share_unavailable
      when 'unobserved' then s.share_unobserved
    end = 'none'
),

adjustments as (
  select
    *,
    'team' as account,
    'gpu_hour' as measure
  from changed
  union all by name
  select
    *,
    'team' as account,
    'gpu_hour' as measure
  from of_promises
  union all by name
  select
    *,
    'team' as account,
    'gpu_hour' as measure
  from of_systems
  union all by name
  select
    *,
    '' as team,
    0 as quantity,
    'own' as account,
    'gpu_hour' as measure
  from of_nobody
  union all by name
  select
    segment,
    team,
    workload_id,
    'energy' as detail,
    0 as quantity,
    'team' as account,
    'kwh' as measure,
    quantity_micro,
    kwh_nano as unit_nano,
    micros
  from energy
  union all by name
  select
    segment,
    team,
    'commitment' as detail,
    0 as quantity,
    'team' as account,
    'commitment' as measure,
    gpus_micro as quantity_micro,
    micros
  from commitments
),

lines as (
  select
    segment,
    kind,
    case kind when 'base' then 'team' else 'own' end as account,
    '' as detail,
    'gpu_hour' as measure,
    team,
    workload_id,
    weight as quantity,
    null::hugeint as quantity_micro,
    null::hugeint as unit_nano,
    null::bigint as measure_rate_id,
    micros
  from cost
  union all by name
  select
    segment,
    'base' as kind,
    'team' as account,
    '' as detail,
    measure,
    team,
    workload_id,
    0 as quantity,
    quantity_micro,
    price_nano as unit_nano,
    rate_id as measure_rate_id,
    micros
  from beside
  union all by name
  select
    segment,
    'shared' as kind,
    'team' as account,
    detail,
    'gpu_hour' as measure,
    team,
    0 as quantity,
    micros
  from shares
  union all by name
  select
    *,
    'adjustment' as kind
  from adjustments
  union all by name
  select
    segment,
    'clearing' as kind,
    'clearing' as account,
    detail,
    measure,
    '' as team,
    -sum(quantity) as quantity,
    -sum(quantity_micro) as quantity_micro,
    -sum(micros) as micros
  from (
    select
      segment,
      detail,
      'gpu_hour' as measure,
      0 as quantity,
      null::hugeint as quantity_micro,
      micros
    from shares
    union all by name
    select
      segment,
      detail,
      measure,
      quantity,
      quantity_micro,
      micros
    from adjustments
  ) as counter
  group by all
)

select
  (
    md5_number_lower(
      to_json(
        [
          s.cluster, s.business_day, s.pool, s.model, s.profile, epoch_ms(s.start_at)::varchar,
          l.kind, l.account, l.detail, l.measure, l.team, l.workload_id::varchar
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
  (
    case
      when l.measure <> 'gpu_hour' then l.unit_nano
      when l.detail = 'borrowed' then s.borrowed_nano
      when l.detail = 'preemptible' then s.preemptible_nano
      when l.detail = 'reserved' then s.reserved_nano
      when l.detail = 'lent' then s.lent_nano
      when l.detail = 'idle' then s.idle_nano
      else s.price_nano
    end
  )::decimal(27, 0) * 0.000000001::decimal(9, 9) as unit_price,
  l.micros::decimal(28, 0) * 0.000001::decimal(6, 6) as amount,
  s.currency,
  case
    when l.measure <> 'gpu_hour' then l.measure_rate_id
    when l.detail = 'borrowed' then s.borrowed_rate_id
    when l.detail = 'preemptible' then s.preemptible_rate_id
    when l.detail = 'reserved' then s.reserved_rate_id
    when l.detail = 'lent' then s.lent_rate_id
    when l.detail = 'idle' then s.idle_rate_id
    else s.rate_id
  end as rate_id,
  null::bigint as corrects,
  l.detail,
  l.measure,
  l.quantity_micro::decimal(38, 0) * 0.000001::decimal(6, 6) as quantity
from lines as l
inner join segments as s on l.segment = s.segment
