-- what each GPU model cost, and what that is for an hour of it
-- param: from date, optional, the first day
-- param: to date, optional, the last day
select
  cluster,
  model,
  sum(amount)::decimal(38, 2) as amount,
  currency,
  round(sum(gpu_h) filter (where kind in ('base', 'unallocated', 'unavailable', 'unobserved')), 2) as gpu_h
from reporting.costs
where
  ($from is null or day >= $from)
  and ($to is null or day <= $to)
group by cluster, model, currency
order by cluster, model, currency
