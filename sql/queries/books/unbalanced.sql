-- unbalanced: days, pools and models of the period whose lines of GPU time are not its usage, or whose usage does not add up
with
used as (
  select
    cluster,
    business_day,
    pool,
    model,
    sum(capacity_pms) as capacity,
    sum(held_pms + unallocated_pms + unavailable_pms + unobserved_pms) as parts,
    sum(held_pms) as held,
    sum(computing_pms + idle_pms + unknown_pms) as told
  from usage_daily
  where business_day >= $start_day and business_day < $end_day
  group by all
),

charged as (
  select
    cluster,
    business_day,
    pool,
    model,
    sum(quantity_pms) as quantity
  from charges
  where business_day >= $start_day and business_day < $end_day and kind <> 'correction' and measure = 'gpu_hour'
  group by all
)

select
  coalesce(u.cluster, c.cluster) as cluster,
  coalesce(u.business_day, c.business_day) as business_day,
  coalesce(u.pool, c.pool) as pool,
  coalesce(u.model, c.model) as model,
  coalesce(u.capacity, 0) as capacity,
  coalesce(u.parts, 0) as parts,
  coalesce(c.quantity, 0) as quantity
from used as u
full outer join charged as c
  on
    u.cluster = c.cluster
    and u.business_day = c.business_day
    and u.pool is not distinct from c.pool
    and u.model is not distinct from c.model
where
  coalesce(u.capacity, 0) <> coalesce(u.parts, 0)
  or u.held <> u.told
  or coalesce(u.capacity, 0) <> coalesce(c.quantity, 0)
order by business_day, cluster, pool, model
