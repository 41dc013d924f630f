-- rates: every price of every version of every card, those of a line together
select
  rate_id,
  card,
  version,
  coalesce(position, 0) as position,
  cluster_glob,
  pool_glob,
  model_glob,
  coalesce(profile_glob, '*') as profile_glob,
  measure,
  price,
  epoch_ms(start_at) as start_ms,
  coalesce(epoch_ms(end_at), $forever_ms) as end_ms
from rates
order by card, version, position, measure, rate_id
