-- open_holdings_by_labels: the devices of what labels alone hold open
select h.* exclude (recorded_at) replace (epoch_ms(h.start_at) as start_at, epoch_ms(h.end_at) as end_at)
from holdings as h
inner join allocations as a on h.cluster = a.cluster and h.allocation_id = a.allocation_id
where
  h.cluster = $cluster
  and h.end_at is null
  and a.source = 'labels'
