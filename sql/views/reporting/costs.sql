-- costs: each line of cost; all lines of a pool's day are its cost, and what a team owes are those with account team
select
  charge_id,
  cluster,
  business_day::date as day,
  pool,
  model,
  team,
  workload_id,
  kind,
  account,
  measure,
  coalesce(quantity, (quantity_pms / 604800000000)::decimal(18, 6)) as quantity,
  case when measure is null or measure = 'gpu_hour' then (quantity_pms / 604800000000)::decimal(18, 6) end
    as gpu_h,
  unit_price,
  amount,
  currency,
  rate_id,
  corrects as corrects_charge_id,
  detail
from main.charges
