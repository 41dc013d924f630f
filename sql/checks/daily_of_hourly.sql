-- teams, pools and workloads whose hours do not add up to their days, and by how much (where the hours of all days are there)
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

counted as (
  select *, 1 as side
  from usage_hourly
  union all by name
  select *, -1 as side
  from usage_daily
),

apart as (
  select
    cluster,
    pool,
    team,
    workload_id,
    sum(if(side > 0, capacity_pms, -capacity_pms)) as capacity_pms_apart,
    sum(if(side > 0, held_pms, -held_pms)) as held_pms_apart,
    sum(if(side > 0, computing_pms, -computing_pms)) as computing_pms_apart,
    sum(if(side > 0, idle_pms, -idle_pms)) as idle_pms_apart,
    sum(if(side > 0, unallocated_pms, -unallocated_pms)) as unallocated_pms_apart,
    sum(if(side > 0, unavailable_pms, -unavailable_pms)) as unavailable_pms_apart,
    sum(if(side > 0, energy_j, -energy_j)) as energy_j_apart
  from counted
  where cluster in (select cluster from complete)
  group by all
)

select *
from apart
where
  capacity_pms_apart <> 0
  or held_pms_apart <> 0
  or computing_pms_apart <> 0
  or idle_pms_apart <> 0
  or unallocated_pms_apart <> 0
  or unavailable_pms_apart <> 0
  or energy_j_apart <> 0
