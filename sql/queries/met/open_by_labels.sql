-- open_by_labels: what labels alone hold open
select
  * exclude (recorded_at) replace (
    epoch_ms(start_at) as start_at,
    epoch_ms(started_at) as started_at,
    epoch_ms(end_at) as end_at,
    epoch_ms(sure_start_at) as sure_start_at,
    epoch_ms(sure_end_at) as sure_end_at
  )
from allocations
where cluster = $cluster and source = 'labels' and end_at is null
