-- left_gaps: the gaps that an earlier life of the collector left open, ended where its new life begins
select
  cluster,
  gap_id,
  epoch_ms(start_at) as start_at,
  greatest(epoch_ms(start_at), $start_ms) as end_at,
  covers,
  source,
  target,
  node,
  reason,
  revision + 1 as revision
from lake.gaps
where
  cluster = $cluster
  and source = $source
  and covers = $covers
  and end_at is null
