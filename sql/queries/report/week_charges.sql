-- week_charges: the charges from $before_day to $last_day (of $team; null: of all), without days and workloads; in_week: of days
-- that are not before $first_day
select
  business_day >= $first_day as in_week,
  cluster,
  pool,
  model,
  team,
  kind,
  account,
  detail,
  unit_price,
  currency,
  sum(amount) as amount
from charges
where business_day between $before_day and $last_day and ($team is null or team = $team)
group by all
