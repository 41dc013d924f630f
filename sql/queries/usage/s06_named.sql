-- named: at each segment the holdings that evidence names fill their device in order of (bound, allocation);
-- a whole device that several claim by DRA is a shared claim: each has its even part
create or replace temp table named as
with
standing_claims as (
  select
    g.g,
    d.device_id,
    d.parts as device_parts,
    x.a,
    x.bound,
    x.rank,
    x.parts,
    x.rank = 0 and x.parts = d.parts as whole
  from segments as g
  inner join here as d on g.c = d.c and g.place = d.place and d.s <= g.s and g.e <= d.e
  inner join claims_here as x
    on g.c = x.c and g.place = x.place and d.device_id = x.device_id and x.s <= g.s and g.e <= x.e
),

wanted as (
  select
    * exclude (parts, whole),
    case
      when whole then parts // count(*) filter (where whole) over (partition by g, device_id)
      else parts
    end as parts
  from standing_claims
),

queued as (
  select
    *,
    sum(parts) over (partition by g, device_id order by bound, a rows unbounded preceding)::bigint - parts as ahead
  from wanted
)

select
  g,
  device_id,
  a,
  rank,
  greatest(0, least(parts, device_parts - ahead)) as parts,
  parts - greatest(0, least(parts, device_parts - ahead)) as over_parts
from queued
