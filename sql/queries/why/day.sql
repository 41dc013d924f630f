-- day: the last instant before which there is usage of the one who is asked for
select epoch_ms(max(u.row_end_at)) as until_ms
from usage_hourly as u
left join allocations as a on u.cluster = a.cluster and u.allocation_id = a.allocation_id
where
  ($kind = 'team' and u.team = $id)
  or ($kind = 'pod' and u.cluster = $cluster and coalesce(a.namespace, '') || '/' || a.pod = $id)
  or (
    $kind = 'gpu' and u.cluster = $cluster
    and u.device_id in (
      select device_id
      from devices
      where cluster = $cluster and gpu_uuid = $id
    )
  )
