-- sums: the period's lines by cluster, pool, team, account, kind and detail: what statements can be added up from
select
  cluster,
  pool,
  team,
  account,
  kind,
  detail,
  currency,
  count(*) as lines,
  sum(amount)::decimal(18, 6) as amount
from charges
where business_day >= $start_day and business_day < $end_day
group by all
order by all
