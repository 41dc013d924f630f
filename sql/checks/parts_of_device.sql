-- devices and hours with more capacity in usage than the device has parts
with
told as (
  select
    cluster,
    device_id,
    row_start_at,
    row_end_at,
    sum(capacity_pms) as capacity_pms
  from usage_hourly
  where device_id is not null
  group by all
),

sizes as (
  select
    cluster,
    device_id,
    max(parts) as parts
  from devices
  group by all
)

select
  cluster,
  device_id,
  row_start_at,
  t.capacity_pms,
  coalesce(s.parts, 168000) * (epoch_ms(t.row_end_at) - epoch_ms(t.row_start_at)) as at_most_pms
from told as t
left join sizes as s using (cluster, device_id)
where t.capacity_pms > coalesce(s.parts, 168000) * (epoch_ms(t.row_end_at) - epoch_ms(t.row_start_at))
