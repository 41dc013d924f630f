-- nodes_before: each node's version that stood at an instant or ended just then, as it was before another source went on with it
select n.* exclude (recorded_at) replace (epoch_ms(n.start_at) as start_at, epoch_ms(n.end_at) as end_at)
from nodes as n
where
  n.cluster = $cluster
  and epoch_ms(n.start_at) < $from_ms
  and coalesce(epoch_ms(n.end_at) >= $from_ms, true)
qualify row_number() over (partition by n.node order by n.start_at desc) = 1
