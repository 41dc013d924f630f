-- disagreements: where sources named different devices for a pod in [from_ms, until_ms)
with
places as (
  select device_id, arg_max(node || '/' || device_index, start_at) as place
  from devices
  where cluster = $cluster
  group by device_id
)

select
  epoch_ms(f.start_at) as start_ms,
  epoch_ms(f.end_at) as end_ms,
  coalesce(p.place, f.evidence ->> '$.labels', '') as labels_say,
  coalesce(f.state, '') as state
from findings as f
left join places as p on try_cast(f.evidence ->> '$.labels' as bigint) = p.device_id
where
  f.cluster = $cluster
  and f.kind = 'sources disagree'
  and f.subject = $id
  and epoch_ms(f.start_at) < $until_ms
  and coalesce(epoch_ms(f.end_at), $until_ms) >= $from_ms
order by start_ms, labels_say
