-- nodes: each node as it is now: GPUs there, held and free
with
there as (
  select
    cluster,
    node,
    sum(parts) as parts,
    sum(parts) filter (where not healthy) as sick_parts
  from main.devices
  where end_at is null
  group by cluster, node
),

held as (
  select
    d.cluster,
    d.node,
    sum(h.parts) as parts
  from main.holdings as h
  inner join main.devices as d on h.cluster = d.cluster and h.device_id = d.device_id and d.end_at is null
  where h.end_at is null
  group by d.cluster, d.node
),

counted as (
  select
    n.*,
    coalesce(t.parts, n.gpu_count * 168000) as parts,
    coalesce(t.sick_parts, 0) as sick_parts,
    coalesce(h.parts, 0) as held_parts
  from main.nodes as n
  left join there as t on n.cluster = t.cluster and n.node = t.node
  left join held as h on n.cluster = h.cluster and n.node = h.node
  where n.end_at is null
)

select
  cluster,
  node,
  pool,
  model,
  schedulable,
  ready,
  ((parts * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as gpus,
  ((sick_parts * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as sick_gpus,
  ((held_parts * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as held_gpus,
  ((greatest(parts - held_parts, 0) * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as free_gpus,
  cpu_milli::decimal(18, 0) * 0.001 as cpus,
  (memory_mib / 1024)::decimal(18, 3) as memory_gib,
  start_at as since_at
from counted
