-- told_nodes: each node while it was so; a version ends at the latest where the next begins
create or replace temp table told_nodes as
select
  c.c,
  n.node,
  epoch_ms(n.start_at) as s,
  least(
    coalesce(epoch_ms(n.end_at), $forever),
    lead(epoch_ms(n.start_at), 1, $forever) over (partition by c.c, n.node order by n.start_at)
  ) as e,
  coalesce(n.pool, '') as pool,
  coalesce(n.model, '') as model,
  coalesce(n.gpu_count, 0) as gpu_count,
  coalesce(n.sharing, 'none') <> 'none' as shared,
  coalesce(n.ready, true) as ready,
  coalesce(n.ready, true) and coalesce(n.schedulable, true) as open_to_work
from nodes as n
inner join asked_clusters as c on n.cluster = c.cluster
