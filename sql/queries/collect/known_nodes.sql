-- known_nodes: the open versions of the nodes that a collector tells
with
concerned as (
  select known.*
  from lake.nodes_versions as known
  semi join told on known.cluster = told.cluster and known.node = told.node
)

select * exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)
from concerned
qualify
  row_number() over (partition by cluster, node, start_at order by revision desc, recorded_at desc) = 1
  and end_at is null
