-- days and pools whose adjustments have no equal counter-line on the account clearing
select
  cluster,
  business_day,
  pool,
  currency,
  sum(amount) as amount
from charges
where kind in ('adjustment', 'clearing')
group by all
having sum(amount) <> 0
