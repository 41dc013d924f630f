-- beside: the CPU and memory that pods with GPUs ask for, while they hold them, where the segment has a price for it; each line
-- rounded once. A pod's time is its allocation's, as far as its usage of the segment reaches; where it holds devices of two
-- prices at once the first counts. segments, profiles and asked (allocations' requests) are given.
with
priced as (
  select *
  from segments
  where rate_id is not null and (cpu_hour_nano is not null or memory_gib_hour_nano is not null)
),

spans as (
  select
    s.segment,
    s.start_at,
    u.cluster,
    coalesce(u.team, '') as team,
    u.workload_id,
    u.allocation_id,
    min(u.row_start_at) as first_at,
    max(u.row_end_at) as last_at
  from usage_hourly as u
  left join profiles as f on u.cluster = f.cluster and u.device_id = f.device_id
  inner join priced as s
    on
      u.cluster = s.cluster
      and u.pool is not distinct from s.pool
      and u.model is not distinct from s.model
      and coalesce(f.profile, '') = s.profile
      and u.row_start_at >= s.start_at
      and u.row_start_at < s.end_at
  where u.held_pms > 0
  group by s.segment, s.start_at, u.cluster, coalesce(u.team, ''), u.workload_id, u.allocation_id
  qualify row_number() over (partition by u.cluster, u.allocation_id, s.start_at, coalesce(u.team, '') order by s.segment) = 1
),

amounts as (
  select
    p.segment,
    p.team,
    p.workload_id,
    sum(
      a.cpu_milli::hugeint
      * greatest(0, epoch_ms(least(a.end_at, p.last_at)) - epoch_ms(greatest(a.start_at, p.first_at)))
    ) as cpu_milli_ms,
    sum(
      a.memory_mib::hugeint
      * greatest(0, epoch_ms(least(a.end_at, p.last_at)) - epoch_ms(greatest(a.start_at, p.first_at)))
    ) as memory_mib_ms
  from spans as p
  inner join asked as a on p.cluster = a.cluster and p.allocation_id = a.allocation_id
  group by all
),

-- a core for an hour is 1000 × 3,600,000 of cpu_milli_ms, a GiB for an hour 1024 × 3,600,000 of memory_mib_ms
measured as (
  select
    a.segment,
    a.team,
    a.workload_id,
    'cpu_hour' as measure,
    a.cpu_milli_ms as amount,
    3600000000::hugeint as unit,
    s.cpu_hour_nano as price_nano,
    s.cpu_hour_rate_id as rate_id
  from amounts as a
  inner join priced as s on a.segment = s.segment
  union all by name
  select
    a.segment,
    a.team,
    a.workload_id,
    'memory_gib_hour' as measure,
    a.memory_mib_ms as amount,
    3686400000::hugeint as unit,
    s.memory_gib_hour_nano as price_nano,
    s.memory_gib_hour_rate_id as rate_id
  from amounts as a
  inner join priced as s on a.segment = s.segment
)

select
  segment,
  team,
  workload_id,
  measure,
  (amount * 1000000 + unit // 2) // unit as quantity_micro,
  (amount * price_nano + unit * 500) // (unit * 1000) as micros,
  price_nano,
  rate_id
from measured
where amount > 0 and price_nano is not null
