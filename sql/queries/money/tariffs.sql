-- tariffs: what electricity costs, in order of its start
select
  cluster_glob,
  epoch_ms(start_at) as start_ms,
  coalesce(epoch_ms(end_at), $forever_ms) as end_ms,
  kwh_price,
  currency,
  pue_permille,
  grams_per_kwh
from tariffs
order by start_at, cluster_glob
