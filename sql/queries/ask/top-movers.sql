-- whose cost changed most against as many days just before: by team
-- param: from date, required, the first day
-- param: to date, required, the last day
-- param: top integer, default 20, how many rows at most
with summed as (
  select
    team,
    currency,
    coalesce(sum(amount) filter (where day >= $from::date), 0) as now_amount,
    coalesce(sum(amount) filter (where day < $from::date), 0) as before_amount
  from reporting.costs
  where
    account = 'team'
    and day between $from::date - ($to::date - $from::date + 1)::integer and $to::date
  group by team, currency
)

select
  team,
  before_amount::decimal(38, 2) as before_amount,
  now_amount::decimal(38, 2) as now_amount,
  (now_amount - before_amount)::decimal(38, 2) as change,
  currency,
  round(100.0 * (now_amount - before_amount) / nullif(before_amount, 0), 1) as change_percent
from summed
order by abs(now_amount - before_amount) desc, team
limit $top
