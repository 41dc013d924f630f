-- who lent GPUs to whom: GPU-hours by pool, lender and borrower
select
  cluster,
  pool,
  lender,
  borrower,
  round(sum(lent_pms) / 604800000000.0, 2) as lent_gpu_h
from lending_hourly
where lent_pms > 0
group by cluster, pool, lender, borrower
order by lent_gpu_h desc, cluster, pool, lender, borrower
