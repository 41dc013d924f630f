-- where telemetry is missing: the known part of held time on each node, thinnest first
select
  cluster,
  node,
  round(sum(held_pms) / 604800000000.0, 2) as held_gpu_h,
  round(sum(unknown_pms) / 604800000000.0, 2) as unknown_gpu_h,
  round(100.0 * (sum(held_pms) - sum(unknown_pms)) / sum(held_pms), 1) as coverage_percent
from usage_hourly
where held_pms > 0
group by cluster, node
order by coverage_percent, cluster, node
