-- lending_by_hour: who lent to whom in each hour, in GPU-hours
select
  cluster,
  row_start_at as start_at,
  row_end_at as end_at,
  pool,
  lender,
  borrower,
  ((lent_pms::hugeint + 302400) // 604800)::decimal(24, 0) * 0.000001 as lent_gpu_h
from main.lending_hourly
