-- quota_by_hour: each team's promise in each pool and what became of it in each hour, in GPU-hours
select
  cluster,
  row_start_at as start_at,
  row_end_at as end_at,
  pool,
  team,
  (guaranteed_pms / 604800000000)::decimal(18, 6) as guaranteed_gpu_h,
  (held_pms / 604800000000)::decimal(18, 6) as held_gpu_h,
  (within_pms / 604800000000)::decimal(18, 6) as within_gpu_h,
  (borrowed_pms / 604800000000)::decimal(18, 6) as borrowed_gpu_h,
  (lent_pms / 604800000000)::decimal(18, 6) as lent_gpu_h,
  (from_spare_pms / 604800000000)::decimal(18, 6) as from_spare_gpu_h,
  (unused_pms / 604800000000)::decimal(18, 6) as unused_gpu_h,
  (waiting_pms / 604800000000)::decimal(18, 6) as waiting_gpu_h
from main.quota_hourly
