-- line_pool: what the day's pool and model came to at the line's price: capacity, and the cost that was shared out by time
select
  sum(quantity_pms)::decimal(38, 0) as capacity_pms,
  sum(amount)::decimal(18, 6) as amount
from charges
where
  cluster = $cluster
  and business_day = $day
  and pool is not distinct from $pool
  and model is not distinct from $model
  and unit_price is not distinct from $unit_price
  and kind in ('base', 'unallocated', 'unavailable', 'unobserved')
  and measure = 'gpu_hour'
