-- prices: the currency, and the prices per GPU-hour, of each pool and model
select
  cluster,
  pool,
  model,
  currency,
  list(distinct unit_price order by unit_price) as unit_prices
from week_charges
where in_week
group by all
