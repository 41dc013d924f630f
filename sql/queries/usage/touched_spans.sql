-- touched_spans: where what was told of things before differs from what is told now, span by span
-- old_told and new_told(entity, s, e, payload) are given; a thing that is there once is touched all over,
-- one that ends elsewhere in between
create or replace temp table touched_spans as
select
  coalesce(n.entity, o.entity) as entity,
  case when n.payload = o.payload then least(n.e, o.e) else coalesce(n.s, o.s) end as from_ms,
  greatest(n.e, o.e) as until_ms,
  coalesce(n.payload <> o.payload, true) as changed
from new_told as n
full outer join old_told as o on n.entity = o.entity and n.s = o.s
where n.payload is distinct from o.payload or n.e is distinct from o.e
