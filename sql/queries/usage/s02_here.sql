-- here: the devices of the asked spans and their place: what must be laid out together.
-- A node with pods whose device nobody names is one place; elsewhere each device is a place of its own
create or replace temp table here as
with
laid_nodes as (
  select distinct u.c, u.node
  from unnamed as u
  inner join asked_spans as x on u.c = x.c and u.s < x.until_ms and x.from_ms < u.e
)

select
  d.c,
  struct_pack(node := d.node, device_id := case when n.node is null then d.device_id else 0 end) as place,
  d.device_id,
  greatest(d.s, x.from_ms) as s,
  least(d.e, x.until_ms) as e,
  d.node,
  d.device_index,
  d.gpu_uuid,
  d.gi_id,
  d.kind,
  d.parts,
  d.healthy,
  d.pool,
  d.model,
  d.shared,
  d.fit,
  d.available
from alive as d
inner join asked_spans as x on d.c = x.c and d.s < x.until_ms and x.from_ms < d.e
left join laid_nodes as n on d.c = n.c and d.node = n.node
