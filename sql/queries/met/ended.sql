-- ended: open holdings by label whose allocation has ended
select
  h.* exclude (recorded_at) replace (
    epoch_ms(h.start_at) as start_at,
    greatest(epoch_ms(h.start_at), epoch_ms(a.end_at)) as end_at,
    h.revision + 1 as revision
  )
from holdings as h
inner join allocations as a on h.cluster = a.cluster and h.allocation_id = a.allocation_id
where
  h.cluster = $cluster
  and h.end_at is null
  and h.evidence = 'label'
  and a.source = 'kubernetes'
  and a.end_at is not null
