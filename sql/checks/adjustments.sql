-- days and pools whose adjustments and shared costs (but what an invoice differs by) have no equal counter-line on the account clearing
select
  cluster,
  business_day,
  pool,
  currency,
  sum(amount) as amount
from charges
where kind in ('adjustment', 'shared', 'clearing') and measure is distinct from 'invoice'
group by all
having sum(amount) <> 0
