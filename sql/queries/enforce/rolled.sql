-- rolled: the span that is rolled up
select
  epoch_ms(min(row_start_at)) as from_ms,
  (
    select epoch_ms(max(rolled_until_at))
    from rollup_marks
    where cluster = $cluster
  ) as until_ms
from usage_hourly
where cluster = $cluster
