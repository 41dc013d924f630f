-- quiet: the devices of the asked spans that nobody holds and nothing speaks of, and that stay what they are all the time
-- that they are there: their rows follow from their parts alone, so they are not laid out
create or replace temp table quiet as
with
steady as (
  select x.c, any_value(b.source) is not null as seen
  from asked_spans as x
  left join believed as b on x.c = b.c and b.s < x.until_ms and x.from_ms < b.e
  group by x.c, x.from_ms, x.until_ms
  having count(b.c) = 0 or (count(*) = 1 and min(b.s) <= x.from_ms and max(b.e) >= x.until_ms)
),

unseen_nodes as (
  select distinct g.c, g.node
  from node_gaps as g
  inner join asked_spans as x on g.c = x.c and g.s < x.until_ms and x.from_ms < g.e
  where g.covers = 'holders'
),

changing as (
  select c, device_id
  from here
  group by c, device_id
  having count(*) > 1
)

select
  d.c,
  d.device_id,
  d.s,
  d.e,
  d.pool,
  d.model,
  d.node,
  d.parts,
  d.available,
  x.seen
from here as d
inner join steady as x on d.c = x.c
anti join unseen_nodes as g on d.c = g.c and d.node = g.node
anti join changing as m on d.c = m.c and d.device_id = m.device_id
anti join claims_here as a on d.c = a.c and d.device_id = a.device_id
anti join told_series as s on d.c = s.c and d.gpu_uuid = s.gpu_uuid
where d.place.device_id = d.device_id
