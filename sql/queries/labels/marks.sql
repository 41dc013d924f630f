-- marks: how far a cluster's telemetry is complete, how far it was read for holders, and its first sample; epoch milliseconds
select
  epoch_ms(max(complete_until_at) filter (where source = $source and covers = 'telemetry')) as complete_ms,
  epoch_ms(max(complete_until_at) filter (where source = 'labels' and covers = 'holders')) as read_ms,
  (
    select epoch_ms(min(sampled_at))
    from samples
    where cluster = $cluster and source = $source
  ) as first_ms
from watermarks
where cluster = $cluster
