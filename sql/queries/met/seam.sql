-- seam: since when Kubernetes is believed about a cluster's holders, how far labels were read, telemetry's first sample, and how
-- far telemetry is complete; epoch milliseconds
select
  (
    select epoch_ms(min(start_at))
    from authority
    where cluster = $cluster and source = 'kubernetes' and kind = 'holders'
  ) as believed_ms,
  (
    select epoch_ms(min(sampled_at))
    from samples
    where cluster = $cluster and source = 'dcgm'
  ) as first_ms,
  epoch_ms(max(complete_until_at) filter (where source = 'labels' and covers = 'holders')) as read_ms,
  epoch_ms(max(complete_until_at) filter (where source = 'dcgm' and covers = 'telemetry')) as complete_ms
from watermarks
where cluster = $cluster
