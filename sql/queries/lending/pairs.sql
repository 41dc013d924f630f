-- pairs: what each team lent to each other in a span, by pool; of a reader with teams, where these lent or borrowed
select
  coalesce(pool, '') as pool,
  lender,
  borrower,
  sum(lent_pms)::bigint as lent_pms
from lending_hourly
where
  row_start_at >= make_timestamptz($from_ms::bigint * 1000)
  and row_start_at < make_timestamptz($until_ms::bigint * 1000)
  and ($teams is null or list_contains($teams::varchar[], lender) or list_contains($teams::varchar[], borrower))
group by pool, lender, borrower
having sum(lent_pms) > 0
order by lent_pms desc, pool, lender, borrower
