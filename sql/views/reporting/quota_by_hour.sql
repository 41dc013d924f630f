-- quota_by_hour: each team's promise in each pool and what became of it in each hour, in GPU-hours
select
  cluster,
  row_start_at as start_at,
  row_end_at as end_at,
  pool,
  team,
  ((guaranteed_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as guaranteed_gpu_h,
  ((held_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as held_gpu_h,
  ((within_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as within_gpu_h,
  ((borrowed_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as borrowed_gpu_h,
  ((lent_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as lent_gpu_h,
  ((from_spare_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as from_spare_gpu_h,
  ((unused_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as unused_gpu_h,
  ((waiting_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as waiting_gpu_h
from main.quota_hourly
