-- who lent GPUs to whom: GPU-hours by pool, lender and borrower
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: pool varchar, optional, the pool; all without it
select
  cluster,
  pool,
  lender,
  borrower,
  round(sum(lent_gpu_h), 2) as lent_gpu_h
from reporting.lending_by_hour
where
  lent_gpu_h > 0
  and ($from is null or start_at::date >= $from)
  and ($to is null or start_at::date <= $to)
  and ($pool is null or pool = $pool)
group by cluster, pool, lender, borrower
order by lent_gpu_h desc, cluster, pool, lender, borrower
