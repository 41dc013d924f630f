-- devices: the devices that were named for claims, by what evidence, and which of these tellings count: the best evidence of
-- those in force
with
places as (
  select
    cluster,
    device_id,
    arg_max(node || '/' || device_index, start_at) as place
  from devices
  group by cluster, device_id
),

told as (
  select distinct
    v.cluster,
    v.allocation_id,
    v.device_id,
    coalesce(v.revision, 0) as revision,
    v.recorded_at,
    v.start_at,
    v.end_at,
    coalesce(v.parts, 0) as parts,
    coalesce(v.evidence, '') as evidence,
    case v.evidence when 'dra' then 0 when 'kubelet' then 1 when 'label' then 2 else 3 end as rank,
    h.holding_id is not null as in_force
  from holdings_versions as v
  left join holdings as h on v.cluster = h.cluster and v.holding_id = h.holding_id and v is not distinct from h
  where v.cluster = $cluster and list_contains($allocations::bigint[], v.allocation_id)
)

select
  t.allocation_id,
  t.device_id,
  p.place,
  t.parts,
  t.evidence,
  t.revision,
  epoch_ms(t.recorded_at) as recorded_ms,
  epoch_ms(t.start_at) as start_ms,
  epoch_ms(t.end_at) as end_ms,
  t.in_force,
  t.in_force and t.rank = min(t.rank) filter (where t.in_force) over (partition by t.allocation_id) as counts
from told as t
left join places as p on t.cluster = p.cluster and t.device_id = p.device_id
order by t.allocation_id, p.place, t.device_id, start_ms, t.revision, recorded_ms
