-- prices: the currency, and the prices per GPU-hour of each pool and model, from $first_day to $last_day
select
  cluster,
  pool,
  model,
  currency,
  list(distinct unit_price order by unit_price) as unit_prices
from charges
where business_day between $first_day and $last_day
group by all
