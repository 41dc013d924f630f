-- cost: what each segment costs, capacity × price rounded once to a millionth, shared out by time: base of who held it, and
-- unallocated, unavailable, unobserved of nobody. Largest remainder; ties by name. spent and segments are given;
-- $nano_gpu_hour_pms is a GPU-hour × 1000.
with
pool_cost as (
  select
    s.segment,
    sum(u.held + u.unallocated + u.unavailable + u.unobserved) as quantity,
    (sum(u.held + u.unallocated + u.unavailable + u.unobserved) * any_value(s.price_nano) + $nano_gpu_hour_pms // 2)
    // $nano_gpu_hour_pms as micros
  from spent as u
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
    held as weight
  from spent
  where held > 0
  union all by name
  select
    segment,
    kind,
    '' as team,
    null::bigint as workload_id,
    sum(weight) as weight
  from spent unpivot (weight for kind in (unallocated, unavailable, unobserved))
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
)

select
  segment,
  kind,
  team,
  workload_id,
  weight,
  floor_micros
  + (
    row_number() over (partition by segment order by remainder desc, kind, team, workload_id)
    <= micros - sum(floor_micros) over (partition by segment)
  )::hugeint as micros
from floors
