-- addresses: each (pool, model, node, device) of the asked spans by a number, so that rows need not be grouped by text
create or replace temp table addresses as
with
told as (
  select c, pool, model, node, device_id from here
  union
  select c, pool, model, node, null as device_id from unnamed_here
)

select row_number() over () as address, *
from told
