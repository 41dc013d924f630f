-- audit_told: a cluster's rows that were told in a span of time
select
  * exclude (told_at, recorded_at),
  epoch_us(told_at) as told_at
from deeds
where
  cluster = $cluster
  and told_at between make_timestamptz($from_ms::bigint * 1000) and make_timestamptz($until_ms::bigint * 1000)
order by number
