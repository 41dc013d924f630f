-- span: the first and the last instant with usage
select
  epoch_ms(min(row_start_at)) as start_ms,
  epoch_ms(max(row_end_at)) as end_ms
from usage_hourly
