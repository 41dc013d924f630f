-- complete_until: how far a cluster's telemetry from a source was complete when it was last told, in epoch milliseconds
select epoch_ms(max(complete_until_at))
from lake.watermarks
where
  cluster = $cluster
  and source = $source
  and covers = $covers
