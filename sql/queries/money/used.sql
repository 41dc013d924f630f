-- used: each business day, cluster, pool and model that has usage, and the span of it
-- business_days(business_day, start_at, end_at) is given
select
  d.business_day,
  u.cluster,
  u.pool,
  u.model,
  epoch_ms(min(u.row_start_at)) as start_ms,
  epoch_ms(max(u.row_end_at)) as end_ms
from usage_hourly as u
inner join business_days as d on u.row_start_at >= d.start_at and u.row_start_at < d.end_at
group by all
order by all
