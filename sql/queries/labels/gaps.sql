-- gaps: telemetry's gaps, each of which is a gap of what labels tell of holders too, that this was not yet told of
select
  telemetry.node,
  telemetry.target,
  telemetry.reason,
  epoch_ms(telemetry.start_at) as start_at,
  epoch_ms(telemetry.end_at) as end_at,
  coalesce(holders.revision + 1, 0)::integer as revision
from gaps as telemetry
left join gaps as holders
  on
    telemetry.cluster = holders.cluster
    and telemetry.node = holders.node
    and telemetry.target = holders.target
    and telemetry.start_at = holders.start_at
    and holders.source = 'labels'
    and holders.covers = 'holders'
where
  telemetry.cluster = $cluster
  and telemetry.source = $source
  and telemetry.covers = 'telemetry'
  and (
    holders.gap_id is null
    or telemetry.end_at is distinct from holders.end_at
    or telemetry.reason is distinct from holders.reason
  )
order by all
