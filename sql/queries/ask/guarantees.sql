-- how each team used what it is promised: GPU-hours guaranteed, held within, borrowed beyond, lent and unused
select
  cluster,
  pool,
  team,
  round(sum(guaranteed_pms) / 604800000000.0, 1) as guaranteed_gpu_h,
  round(sum(within_pms) / 604800000000.0, 1) as within_gpu_h,
  round(sum(borrowed_pms) / 604800000000.0, 1) as borrowed_gpu_h,
  round(sum(lent_pms) / 604800000000.0, 1) as lent_gpu_h,
  round(sum(unused_pms) / 604800000000.0, 1) as unused_gpu_h
from quota_hourly
group by cluster, pool, team
order by cluster, pool, team
