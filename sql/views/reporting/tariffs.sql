-- tariffs: what electricity costs and emits, and for how long; of those that match a cluster the longest pattern counts
select
  cluster_glob as clusters,
  kwh_price as price,
  currency,
  pue_permille::decimal(9, 0) * 0.001::decimal(4, 3) as pue,
  grams_per_kwh,
  start_at as since_at,
  end_at as until_at,
  author
from main.tariffs
