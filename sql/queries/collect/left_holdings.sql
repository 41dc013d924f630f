-- left_holdings: open holdings of allocations that have ended
select
  h.* exclude (recorded_at) replace (
    epoch_ms(h.start_at) as start_at,
    greatest(epoch_ms(h.start_at), epoch_ms(a.end_at)) as end_at,
    h.revision + 1 as revision
  )
from lake.holdings as h
inner join lake.allocations as a on h.cluster = a.cluster and h.allocation_id = a.allocation_id
where
  h.cluster = $cluster
  and h.end_at is null
  and a.source = $source
  and a.end_at is not null
  and not list_contains($present::bigint[], h.holding_id)
