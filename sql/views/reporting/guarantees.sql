-- guarantees: what each team is promised in each pool, in GPUs; a booking adds, an offer subtracts
select
  cluster,
  pool,
  team,
  kind,
  ((guaranteed_parts * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as guaranteed_gpus,
  ((limit_parts * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as limit_gpus,
  weight,
  start_at as since_at,
  end_at as until_at,
  source
from main.quotas
