-- sightings: each device that pages of the span tell of, and from which page to which.
-- A page of a GPU that is cut tells of its instances; the row of the whole GPU beside them is no device
with
seen as (
  select *
  from spoken
  where
    cluster = $cluster
    and source = $source
    and sampled_at >= make_timestamptz($from_ms::bigint * 1000)
    and sampled_at < make_timestamptz($until_ms::bigint * 1000)
),

cut as (
  select distinct node, gpu_uuid, sampled_at
  from seen
  where gi_id <> ''
)

select
  seen.node,
  seen.gpu_uuid,
  seen.gi_id,
  seen.profile,
  seen.model,
  seen.device_index,
  bool_or(seen.vgpu <> '') as shared,
  epoch_ms(min(seen.sampled_at)) as first_ms,
  epoch_ms(max(seen.sampled_at)) as last_ms
from seen
anti join cut
  on
    seen.gi_id = ''
    and seen.node = cut.node
    and seen.gpu_uuid = cut.gpu_uuid
    and seen.sampled_at = cut.sampled_at
group by all
order by all
