-- the cost of each business day, and the part of it that nobody held
-- param: from date, optional, the first day
-- param: to date, optional, the last day
select
  day,
  currency,
  sum(amount)::decimal(38, 2) as amount,
  coalesce(sum(amount) filter (where kind in ('unallocated', 'unavailable', 'unobserved')), 0)::decimal(38, 2) as nobodys
from reporting.costs
where
  ($from is null or day >= $from)
  and ($to is null or day <= $to)
group by day, currency
order by day, currency
