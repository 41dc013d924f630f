-- known_authority: the open versions of the authorities that a collector tells
with
concerned as (
  select known.*
  from lake.authority_versions as known
  semi join told on known.cluster = told.cluster and known.authority_id = told.authority_id
)

select * exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)
from concerned
qualify
  row_number() over (partition by cluster, authority_id, start_at order by revision desc, recorded_at desc) = 1
  and end_at is null
