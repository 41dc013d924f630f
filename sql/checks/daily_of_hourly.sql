-- teams, pools and workloads whose days do not add up to their hours (where the hours of all days are still there)
with
kept as (
  select
    cluster,
    strftime(min(row_start_at) at time zone 'UTC', '%Y-%m-%d') as first_day
  from usage_hourly
  group by all
),

complete as (
  select d.cluster
  from usage_daily as d
  inner join kept as k on d.cluster = k.cluster
  group by d.cluster, k.first_day
  -- a business day may begin up to a day before or after the day in UTC
  having min(d.business_day) >= strftime(k.first_day::date - 1, '%Y-%m-%d')
),

hours as (
  select
    cluster,
    pool,
    team,
    workload_id,
    sum(capacity_pms) as capacity_pms,
    sum(held_pms) as held_pms,
    sum(computing_pms) as computing_pms,
    sum(idle_pms) as idle_pms,
    sum(unallocated_pms) as unallocated_pms,
    sum(unavailable_pms) as unavailable_pms,
    sum(energy_j) as energy_j
  from usage_hourly
  where cluster in (select cluster from complete)
  group by all
),

days as (
  select
    cluster,
    pool,
    team,
    workload_id,
    sum(capacity_pms) as capacity_pms,
    sum(held_pms) as held_pms,
    sum(computing_pms) as computing_pms,
    sum(idle_pms) as idle_pms,
    sum(unallocated_pms) as unallocated_pms,
    sum(unavailable_pms) as unavailable_pms,
    sum(energy_j) as energy_j
  from usage_daily
  where cluster in (select cluster from complete)
  group by all
)

select
  coalesce(h.cluster, d.cluster) as cluster,
  coalesce(h.pool, d.pool) as pool,
  coalesce(h.team, d.team) as team,
  coalesce(h.workload_id, d.workload_id) as workload_id,
  h.capacity_pms as hours_capacity_pms,
  d.capacity_pms as days_capacity_pms,
  h.held_pms as hours_held_pms,
  d.held_pms as days_held_pms
from hours as h
full join days as d
  on
    h.cluster = d.cluster
    and h.pool is not distinct from d.pool
    and h.team is not distinct from d.team
    and h.workload_id is not distinct from d.workload_id
where
  h.capacity_pms is distinct from d.capacity_pms
  or h.held_pms is distinct from d.held_pms
  or h.computing_pms is distinct from d.computing_pms
  or h.idle_pms is distinct from d.idle_pms
  or h.unallocated_pms is distinct from d.unallocated_pms
  or h.unavailable_pms is distinct from d.unavailable_pms
  or h.energy_j is distinct from d.energy_j
