-- owed_daily: what each team owes for each day, in millionths, over the given days
select
  team,
  business_day,
  currency,
  (sum(amount)::decimal(30, 6) * 1000000::decimal(7, 0))::bigint as micros
from charges
where account = 'team' and business_day >= $first_day and business_day < $end_day
group by team, business_day, currency
order by team, business_day
