-- lending: what each team lent to each other from $start_at to $end_at, over all pools
select
  lender,
  borrower,
  sum(lent_pms)::hugeint as lent
from lending_hourly
where row_start_at >= $start_at and row_start_at < $end_at
group by all
having sum(lent_pms) > 0
order by lent desc, lender, borrower
