-- hours: each hour of each pool that is rolled up: what was held, what of it is known, whether anything computed
select
  epoch_ms(date_trunc('hour', row_start_at)) + 3600000 as at_ms,
  coalesce(pool, '') as pool,
  sum(held_pms)::bigint as held_pms,
  sum(held_pms - unknown_pms)::bigint as known_pms,
  sum(computing_pms) > 0 as computes
from usage_hourly
where
  cluster = $cluster
  and row_start_at >= make_timestamptz($from_ms::bigint * 1000)
  and row_start_at < make_timestamptz($until_ms::bigint * 1000)
group by all
