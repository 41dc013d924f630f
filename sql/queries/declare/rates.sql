-- rates: every price of every version of every card, instants in milliseconds
select
  card,
  version,
  position,
  cluster_glob,
  pool_glob,
  model_glob,
  profile_glob,
  purchase,
  measure,
  price,
  currency,
  epoch_ms(start_at) as start_at,
  epoch_ms(end_at) as end_at
from rates
order by card, version, position, measure
