-- known_holdings: the open versions of the holdings that a collector tells
with
concerned as (
  select known.*
  from lake.holdings_versions as known
  semi join told on known.cluster = told.cluster and known.holding_id = told.holding_id
)

select * exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)
from concerned
qualify
  row_number() over (partition by cluster, holding_id, start_at order by revision desc, recorded_at desc) = 1
  and end_at is null
