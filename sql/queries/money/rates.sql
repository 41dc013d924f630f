-- rates: every price per GPU-hour, of every version of every card
select
  rate_id,
  card,
  version,
  coalesce(position, 0) as position,
  cluster_glob,
  pool_glob,
  model_glob,
  price,
  epoch_ms(start_at) as start_ms,
  coalesce(epoch_ms(end_at), $forever_ms) as end_ms
from rates
where measure = 'gpu_hour'
order by card, version, position, rate_id
