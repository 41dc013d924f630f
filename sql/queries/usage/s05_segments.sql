-- segments: each place, but those of quiet devices, in spans in which its layout does not change
create or replace temp table segments as
with
stirring as (
  select h.c, h.place, h.s, h.e
  from here as h
  anti join quiet as q on h.c = q.c and h.device_id = q.device_id
),

bounds as (
  select c, place, s as t from stirring
  union
  select c, place, e as t from stirring
  union
  select c, place, s as t from claims_here
  union
  select c, place, e as t from claims_here
  union
  select c, place, s as t from unnamed_here
  union
  select c, place, e as t from unnamed_here
)

select
  row_number() over () as g,
  c,
  place,
  t as s,
  lead(t) over (partition by c, place order by t) as e
from bounds
qualify e is not null
