-- alive: every device that counts, in spans in which it does not change
-- an assumed device is withdrawn where the real one of its index is known; ghost_ids names what nobody names
create or replace temp table alive as
select
  c,
  device_id,
  s,
  e,
  node,
  device_index,
  gpu_uuid,
  gi_id,
  kind,
  parts,
  healthy,
  pool,
  model,
  shared,
  ready and healthy as fit,
  open_to_work and healthy as available
from standing
where not assumed
union all by name
select
  d.c,
  d.device_id,
  m.s,
  m.e,
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
  d.ready and d.healthy as fit,
  d.open_to_work and d.healthy as available
from standing as d
inner join moments as m on d.c = m.c and d.node = m.node and d.s <= m.s and m.e <= d.e
where d.assumed and not list_contains(m.sure, d.device_index)
union all by name
select
  g.c,
  i.device_id,
  g.s,
  g.e,
  g.node,
  g.device_index,
  i.gpu_uuid,
  '' as gi_id,
  'gpu' as kind,
  $gpu_parts as parts,
  true as healthy,
  g.pool,
  g.model,
  g.shared,
  g.ready as fit,
  g.open_to_work as available
from ghosts as g
inner join ghost_ids as i on g.c = i.c and g.node = i.node and g.device_index = i.device_index
