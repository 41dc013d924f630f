-- unnamed_here: what must be laid in the asked spans, and where
create or replace temp table unnamed_here as
select
  u.c,
  struct_pack(node := u.node, device_id := 0::bigint) as place,
  u.a,
  u.node,
  u.pool,
  u.model,
  u.parts,
  u.bound,
  greatest(u.s, x.from_ms) as s,
  least(u.e, x.until_ms) as e
from unnamed as u
inner join asked_spans as x on u.c = x.c and u.s < x.until_ms and x.from_ms < u.e
