-- silences: spans in which nobody told of the whole cluster
select
  source,
  covers,
  epoch_ms(start_at) as start_ms,
  coalesce(epoch_ms(end_at), $forever::bigint) as end_ms
from gaps
where
  cluster = $cluster and node = '' and covers in ('holders', 'telemetry')
  and epoch_ms(start_at) <= $until_ms and coalesce(epoch_ms(end_at), $forever) > $from_ms
