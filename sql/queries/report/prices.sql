-- prices: the currency, and the prices per GPU-hour, of each pool and model, by team (null: nobody's)
select
  cluster,
  pool,
  model,
  team,
  currency,
  coalesce(
    list(distinct unit_price order by unit_price)
    filter (where kind in ('base', 'unallocated', 'unavailable', 'unobserved')),
    []
  ) as unit_prices
from span_charges
where number = 0 and coalesce(measure, 'gpu_hour') = 'gpu_hour'
group by all
