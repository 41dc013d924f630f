-- tariffs: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from tariffs_versions
qualify
  row_number() over (
    partition by tariff_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, cluster_glob desc, kwh_price desc, currency desc, pue_permille desc, grams_per_kwh desc, author desc
  ) = 1
  and (end_at is null or end_at > start_at)
