-- used: each business day, cluster, pool, model and MIG profile with a price of its own that has usage, and the span of it
-- business_days(business_day, start_at, end_at) and profiles(cluster, device_id, profile) are given
select
  d.business_day,
  u.cluster,
  u.pool,
  u.model,
  coalesce(f.profile, '') as profile,
  epoch_ms(min(u.row_start_at)) as start_ms,
  epoch_ms(max(u.row_end_at)) as end_ms
from usage_hourly as u
inner join business_days as d on u.row_start_at >= d.start_at and u.row_start_at < d.end_at
left join profiles as f on u.cluster = f.cluster and u.device_id = f.device_id
group by all
order by all
