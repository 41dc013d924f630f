-- devices: each accounting unit that can be given, while it was there
select
  epoch_ms(start_at) as start_ms,
  coalesce(epoch_ms(end_at), $forever::bigint) as end_ms,
  node,
  case when kind = 'mig' then profile else 'gpu' end as unit,
  parts
from devices
where
  cluster = $cluster and kind <> 'uncarved'
  and epoch_ms(start_at) <= $until_ms and coalesce(epoch_ms(end_at), $forever) > $from_ms
