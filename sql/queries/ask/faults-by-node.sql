-- which nodes fail: GPU-hours held but faulted, or unavailable
select
  cluster,
  node,
  round(sum(faulted_pms) / 604800000000.0, 2) as faulted_gpu_h,
  round(sum(unavailable_pms) / 604800000000.0, 2) as unavailable_gpu_h
from usage_hourly
group by cluster, node
having sum(faulted_pms) + sum(unavailable_pms) > 0
order by faulted_gpu_h + unavailable_gpu_h desc, cluster, node
