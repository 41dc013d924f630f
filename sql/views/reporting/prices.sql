-- prices: each line of each version of a rate card; the first that matches is what is charged
select
  card,
  version,
  position,
  cluster_glob as clusters,
  pool_glob as pools,
  model_glob as models,
  profile_glob as profiles,
  purchase,
  measure,
  unit,
  price,
  currency,
  start_at as since_at,
  end_at as until_at,
  author,
  recorded_at,
  rate_id
from main.rates
