-- usage rows in which an allocation holds more than its device has while both the row and the allocation last
with
spans as (
  select
    u.cluster,
    u.row_start_at,
    u.device_id,
    u.allocation_id,
    sum(u.held_pms) as held_pms,
    max(epoch_ms(u.row_end_at)) as row_end_ms
  from usage_hourly as u
  where u.allocation_id is not null
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
  s.cluster,
  s.row_start_at,
  s.device_id,
  s.allocation_id,
  s.held_pms,
  a.start_at,
  a.end_at
from spans as s
inner join allocations as a on s.cluster = a.cluster and s.allocation_id = a.allocation_id
left join sizes as d on s.cluster = d.cluster and s.device_id = d.device_id
left join usage_late as l
  on s.cluster = l.cluster and s.allocation_id = l.allocation_id and s.row_start_at = l.row_start_at
where
  l.cluster is null
  and s.held_pms > coalesce(d.parts, 168000) * greatest(
    0,
    least(s.row_end_ms, coalesce(epoch_ms(a.end_at), s.row_end_ms))
    - greatest(epoch_ms(s.row_start_at), epoch_ms(a.start_at))
  )
