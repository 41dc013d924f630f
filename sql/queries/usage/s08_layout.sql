-- layout: who holds which parts of which device in which span, and what nobody holds (a is null)
create or replace temp table layout as
with
holders as (
  select g, device_id, a, parts, rank, true as named from named
  where parts > 0
  union all by name
  select g, device_id, a, parts, 9 as rank, false as named from laid
  where parts > 0
),

rest as (
  select
    g.g,
    d.device_id,
    any_value(d.parts) - coalesce(sum(h.parts), 0)::bigint as parts
  from segments as g
  inner join here as d on g.c = d.c and g.place = d.place and d.s <= g.s and g.e <= d.e
  left join holders as h on g.g = h.g and d.device_id = h.device_id
  group by g.g, d.device_id
),

held as (
  select g, device_id, a, parts, rank, named, count(*) over (partition by g, device_id) as holders
  from holders
  union all by name
  select g, device_id, null as a, parts, 9 as rank, false as named, 0 as holders
  from rest
  where parts > 0
)

select
  row_number() over () as p,
  g.c,
  g.s,
  g.e,
  h.device_id,
  h.a,
  h.parts,
  h.named,
  h.rank >= 2 and (d.shared or h.holders > 1) as doubtful,
  x.address,
  d.node,
  d.pool,
  d.model,
  d.device_index,
  d.gpu_uuid,
  d.gi_id,
  d.parts as device_parts,
  d.fit,
  d.available
from held as h
inner join segments as g on h.g = g.g
inner join here as d on g.c = d.c and g.place = d.place and h.device_id = d.device_id and d.s <= g.s and g.e <= d.e
inner join addresses as x
  on d.c = x.c and d.pool = x.pool and d.model = x.model and d.node = x.node and d.device_id = x.device_id
