-- covered: the spans of a cluster's telemetry that a source covers already, null where it still does: what was read from a
-- Prometheus, and everything since pages are fetched
select
  source,
  target_id,
  epoch_ms(start_at) as start_ms,
  epoch_ms(end_at) as end_ms,
  revision
from targets
where cluster = $cluster and source = 'prometheus'
union all by name
select
  'live' as source,
  null as target_id,
  epoch_ms(min(start_at)) as start_ms,
  null as end_ms,
  null as revision
from series
where cluster = $cluster and source <> 'prometheus'
having count(*) > 0
order by start_ms
