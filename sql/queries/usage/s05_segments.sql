-- segments: each place in spans in which its layout does not change
create or replace temp table segments as
with
bounds as (
  select c, place, s as t from here
  union
  select c, place, e as t from here
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
