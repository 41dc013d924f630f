-- rates: every price of every version of every card, instants in milliseconds
select
  card,
  version,
  position,
  cluster_glob,
  pool_glob,
  model_glob,
  price,
  currency,
  epoch_ms(start_at) as start_at,
  epoch_ms(end_at) as end_at
from rates
where measure = 'gpu_hour'
order by card, version, position
