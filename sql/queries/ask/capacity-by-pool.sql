-- what each pool's GPU time went into: held, unallocated, unavailable, unobserved add up to capacity
select
  cluster,
  pool,
  round(sum(capacity_pms) / 604800000000.0, 1) as capacity_gpu_h,
  round(sum(held_pms) / 604800000000.0, 1) as held_gpu_h,
  round(sum(unallocated_pms) / 604800000000.0, 1) as unallocated_gpu_h,
  round(sum(unavailable_pms) / 604800000000.0, 1) as unavailable_gpu_h,
  round(sum(unobserved_pms) / 604800000000.0, 1) as unobserved_gpu_h
from usage_daily
group by cluster, pool
order by cluster, pool
