-- known_devices: a cluster's open devices that telemetry or dynamic resource allocation tells of, with the end of their node
with
lives as (
  select
    node,
    case when bool_or(end_at is null) then null else max(end_at) end as ended_at
  from nodes
  where cluster = $cluster
  group by node
)

select
  d.* exclude (recorded_at) replace (epoch_ms(d.start_at) as start_at, epoch_ms(d.end_at) as end_at),
  epoch_ms(n.ended_at) as node_ended_ms
from devices as d
left join lives as n on d.node = n.node
where
  d.cluster = $cluster
  and d.end_at is null
  and d.evidence in ('telemetry', 'dra')
