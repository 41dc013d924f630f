-- claims_here: the named claims on the devices that are here
create or replace temp table claims_here as
select
  d.c,
  d.place,
  d.device_id,
  x.a,
  x.parts,
  x.bound,
  x.rank,
  greatest(x.s, d.s) as s,
  least(x.e, d.e) as e
from claims as x
inner join here as d on x.c = d.c and x.device_id = d.device_id and x.s < d.e and d.s < x.e
