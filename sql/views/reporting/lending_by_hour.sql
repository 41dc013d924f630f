-- lending_by_hour: who lent to whom in each hour, in GPU-hours
select
  cluster,
  row_start_at as start_at,
  row_end_at as end_at,
  pool,
  lender,
  borrower,
  (lent_pms / 604800000000)::decimal(18, 6) as lent_gpu_h
from main.lending_hourly
