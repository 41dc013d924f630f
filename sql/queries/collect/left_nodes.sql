-- left_nodes: nodes of an earlier life that are there no more, ended when that was seen
select
  * exclude (recorded_at) replace (
    epoch_ms(start_at) as start_at,
    greatest(epoch_ms(start_at), $at_ms) as end_at,
    revision + 1 as revision
  )
from lake.nodes
where
  cluster = $cluster
  and end_at is null
  and not list_contains($present::varchar[], node)
