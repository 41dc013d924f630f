-- ears: the pieces that telemetry speaks to (named holders, and what nobody holds), each with its unit, hour and floors;
-- fussy: in this hour the GPU is not one device held as a whole
create or replace temp table ears as
select
  p.q,
  u.unit,
  (p.s // $hour_ms)::integer as hour,
  p.s,
  p.e,
  p.parts,
  p.a is not null as held,
  p.silent,
  bool_or(p.parts < $gpu_parts) over same_hour or min(p.device_id) over same_hour <> max(p.device_id) over same_hour as fussy,
  f.* exclude (c, era_s, model, kind)
from pieces as p
inner join units as u on p.c = u.c and p.gpu_uuid = u.gpu_uuid and p.gi_id = u.gi_id
left join told_allocations as a on p.c = a.c and p.a = a.a
left join kinds as k on a.c = k.c and a.workload_id = k.workload_id
left join floors as f
  on p.c = f.c and p.era_s = f.era_s and p.model = f.model and p.named and coalesce(k.kind, '') = f.kind
where p.named or p.a is null
window same_hour as (partition by u.unit, p.s // $hour_ms)
