-- taken: what is taken off the base lines, in order, each of what those before it left, so that together they are never more
-- than the line; and what is added to them. One row a base line. spent, cost, segments, commitments, discount_globs are given;
-- $nano_gpu_hour_pms is a GPU-hour × 1000.
with
lines as (
  select
    c.segment,
    c.team,
    c.workload_id,
    u.is_system,
    c.weight,
    c.micros,
    u.* exclude (segment, team, workload_id, is_system, held, unallocated, unavailable, unobserved),
    s.* exclude (segment)
  from cost as c
  inner join spent as u
    on c.segment = u.segment and c.team = u.team and c.workload_id is not distinct from u.workload_id
  inner join segments as s on c.segment = s.segment
  where c.kind = 'base'
),

broken as (
  select
    *,
    micros * faulted // weight as faulted_off,
    case when lost > 0 then (micros * lost // weight) * lost_permille // 1000 else 0 end as lost_off
  from lines
),

cheaper as (
  select
    *,
    case
      when preemptible > 0 and preemptible_nano < price_nano
        then
          least(
            (price_nano - preemptible_nano) * preemptible // $nano_gpu_hour_pms, micros - faulted_off - lost_off
          )
      else 0
    end as preemptible_off
  from broken
),

borrowing as (
  select
    *,
    case
      when borrowed > 0 and borrowed_nano < price_nano
        then
          least(
            (price_nano - borrowed_nano) * borrowed // $nano_gpu_hour_pms,
            micros - faulted_off - lost_off - preemptible_off
          )
      else 0
    end as borrowed_off
  from cheaper
),

-- what the team committed itself to, and how much of what it held in the pool that day is covered
covered as (
  select
    l.cluster,
    l.pool,
    l.business_day,
    l.team,
    sum(l.weight) as held,
    least(sum(l.weight), any_value(m.most_pms)) as covered
  from borrowing as l
  inner join commitments as m
    on l.cluster = m.cluster and l.pool = m.pool and l.business_day = m.business_day and l.team = m.team
  where not l.is_system
  group by all
),

discounts as (
  select
    t.card,
    t.team,
    arg_min(g.permille, g.position) as discount_permille
  from (select distinct
    card,
    team
  from lines) as t
  inner join discount_globs as g on t.card = g.card and t.team glob g.team_glob
  group by all
),

committed as (
  select
    b.*,
    b.micros - b.faulted_off - b.lost_off - b.preemptible_off - b.borrowed_off as left_micros,
    case when v.held is null or b.is_system then 0 else left_micros * v.covered // v.held end as commitment_off,
    case when v.held is null or b.is_system then 0 else b.weight * v.covered // v.held end as committed,
    case when b.is_system then 0 else coalesce(d.discount_permille, 0) end as discount_permille
  from borrowing as b
  left join covered as v
    on b.cluster = v.cluster and b.pool = v.pool and b.business_day = v.business_day and b.team = v.team
  left join discounts as d on b.card = d.card and b.team = d.team
)

select
  segment,
  team,
  workload_id,
  is_system,
  weight,
  micros,
  faulted,
  lost,
  preemptible,
  borrowed,
  idle,
  committed,
  faulted_off,
  lost_off,
  preemptible_off,
  borrowed_off,
  commitment_off,
  (left_micros - commitment_off) * discount_permille // 1000 as discount_off,
  left_micros - commitment_off - discount_off as left_micros,
  case
    when preemptible > 0 and preemptible_nano > price_nano
      then ((preemptible_nano - price_nano) * preemptible + $nano_gpu_hour_pms // 2) // $nano_gpu_hour_pms
    else 0
  end as preemptible_on,
  case
    when borrowed > 0 and borrowed_nano > price_nano
      then ((borrowed_nano - price_nano) * borrowed + $nano_gpu_hour_pms // 2) // $nano_gpu_hour_pms
    else 0
  end as borrowed_on,
  case
    when idle > 0 then (idle_nano * idle + $nano_gpu_hour_pms // 2) // $nano_gpu_hour_pms
    else 0
  end as idle_on
from committed
