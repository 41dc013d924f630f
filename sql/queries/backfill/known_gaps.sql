-- known_gaps: gaps of a Prometheus that reach the instant where reading goes on, and those of answers that were a part only
-- in the span that is read now
select * exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)
from gaps
where
  cluster = $cluster
  and source = 'prometheus'
  and covers = 'telemetry'
  and (
    (node <> '' and end_at = make_timestamptz($from_ms::bigint * 1000))
    or (
      node = ''
      and start_at < make_timestamptz($until_ms::bigint * 1000)
      and end_at > make_timestamptz($from_ms::bigint * 1000)
    )
  )
