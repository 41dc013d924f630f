-- devices: each GPU, MIG instance and uncarved rest as it is now, and how much of it is held
with held as (
  select
    cluster,
    device_id,
    sum(parts) as parts
  from main.holdings
  where end_at is null
  group by cluster, device_id
)

select
  d.cluster,
  d.node,
  d.device_id,
  d.device_index,
  d.gpu_uuid,
  d.kind,
  d.profile,
  ((d.parts * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as gpus,
  ((coalesce(h.parts, 0) * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as held_gpus,
  d.healthy,
  d.evidence,
  d.start_at as since_at
from main.devices as d
left join held as h on d.cluster = h.cluster and d.device_id = h.device_id
where d.end_at is null
