-- days and pools whose adjustments and shared costs have no equal counter-line on the account clearing
select
  cluster,
  business_day,
  pool,
  currency,
  sum(amount) as amount
from charges
where kind in ('adjustment', 'shared', 'clearing')
group by all
having sum(amount) <> 0
