-- known_nodes: a cluster's open nodes
select * exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)
from nodes
where cluster = $cluster and end_at is null
