-- marks: how far a cluster's telemetry and its holders are complete, how far both were laid together, and its first sample
select
  least(
    epoch_ms(max(complete_until_at) filter (where source = 'dcgm' and covers = 'telemetry')),
    epoch_ms(max(complete_until_at) filter (where source = 'kubernetes' and covers = 'holders'))
  ) as complete_ms,
  epoch_ms(max(complete_until_at) filter (where source = 'kubernetes' and covers = 'devices')) as read_ms,
  epoch_ms(max(complete_until_at) filter (where source = 'labels' and covers = 'holders')) as labels_ms,
  (
    select epoch_ms(min(sampled_at))
    from samples
    where cluster = $cluster and source = 'dcgm'
  ) as first_ms
from watermarks
where cluster = $cluster
