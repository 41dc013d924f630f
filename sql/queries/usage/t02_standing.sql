-- standing: each device while it and its node were so
create or replace temp table standing as
with
told as (
  select
    c.c,
    d.device_id,
    epoch_ms(d.start_at) as s,
    least(
      coalesce(epoch_ms(d.end_at), $forever),
      lead(epoch_ms(d.start_at), 1, $forever) over (partition by c.c, d.device_id order by d.start_at)
    ) as e,
    d.node,
    d.device_index,
    coalesce(d.gpu_uuid, '') as gpu_uuid,
    coalesce(d.gi_id, '') as gi_id,
    d.kind,
    d.parts,
    coalesce(d.healthy, true) as healthy,
    coalesce(d.evidence, '') = 'assumed' as assumed
  from devices as d
  inner join asked_clusters as c on d.cluster = c.cluster
)

select
  d.c,
  d.device_id,
  greatest(d.s, n.s) as s,
  least(d.e, n.e) as e,
  d.node,
  d.device_index,
  d.gpu_uuid,
  d.gi_id,
  d.kind,
  d.parts,
  d.healthy,
  d.assumed,
  n.pool,
  n.model,
  n.shared,
  n.ready,
  n.open_to_work
from told as d
inner join told_nodes as n on d.c = n.c and d.node = n.node and d.s < n.e and n.s < d.e
