-- week_charges: the charges from $before_day to $last_day (of $team; null: of all); in_week: not before $first_day
select
  business_day >= $first_day as in_week,
  business_day,
  cluster,
  pool,
  model,
  team,
  workload_id,
  kind,
  account,
  quantity_pms,
  unit_price,
  amount,
  currency,
  detail
from charges
where business_day between $before_day and $last_day and ($team is null or team = $team)
