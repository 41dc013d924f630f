-- owed_daily: what each team ($teams; null: all) owes for each day, in millionths, over the given days
select
  team,
  business_day,
  currency,
  (sum(amount)::decimal(30, 6) * 1000000::decimal(7, 0))::bigint as micros
from charges
where
  account = 'team'
  and business_day >= $first_day
  and business_day < $end_day
  and ($teams is null or list_contains($teams, team))
group by team, business_day, currency
order by team, business_day
