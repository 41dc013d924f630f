-- known_growth: the open versions of the growth that a collector tells
with
concerned as (
  select known.*
  from lake.growth_versions as known
  semi join told on known.cluster = told.cluster and known.growth_id = told.growth_id
)

select * exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)
from concerned
qualify
  row_number() over (partition by cluster, growth_id, start_at order by revision desc, recorded_at desc) = 1
  and end_at is null
