-- told_demand: workloads that wait
create or replace temp table told_demand as
select
  c.c,
  epoch_ms(d.start_at) as s,
  least(
    coalesce(epoch_ms(d.end_at), $forever),
    lead(epoch_ms(d.start_at), 1, $forever) over (partition by c.c, d.demand_id order by d.start_at)
  ) as e,
  coalesce(d.pool, '') as pool,
  coalesce(d.gpu_parts, 0) as parts,
  coalesce(d.namespace, '') as namespace,
  case when json_valid(d.labels) then d.labels else '{}' end as labels,
  case when json_valid(d.user_patterns) then d.user_patterns else '[]' end as user_patterns
from demand as d
inner join asked_clusters as c on d.cluster = c.cluster
