-- left_targets: the targets of an earlier life that are watched no more, ended where the new life begins
select
  cluster,
  target_id,
  epoch_ms(start_at) as start_at,
  greatest(epoch_ms(start_at), $start_ms) as end_at,
  source,
  target,
  node,
  interval_ms,
  revision + 1 as revision
from lake.targets
where
  cluster = $cluster
  and source = $source
  and end_at is null
  and not list_contains($targets::bigint[], target_id)
