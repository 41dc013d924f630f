-- the cost of each business day, and the part of it that nobody held
select
  business_day,
  currency,
  sum(amount)::decimal(38, 2) as amount,
  coalesce(sum(amount) filter (where kind in ('unallocated', 'unavailable', 'unobserved')), 0)::decimal(38, 2) as nobodys
from charges
group by business_day, currency
order by business_day, currency
