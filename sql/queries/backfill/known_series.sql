-- known_series: what a Prometheus called devices when it was read last: series that are open, or end where reading goes on
select * exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)
from series
where
  cluster = $cluster
  and source = 'prometheus'
  and (end_at is null or end_at = make_timestamptz($from_ms::bigint * 1000))
