-- known_allocations: the last version of each allocation that a collector tells, ended ones too
with
concerned as (
  select known.*
  from lake.allocations_versions as known
  semi join told on known.cluster = told.cluster and known.allocation_id = told.allocation_id
)

select
  * exclude (recorded_at) replace (
    epoch_ms(start_at) as start_at,
    epoch_ms(started_at) as started_at,
    epoch_ms(end_at) as end_at,
    epoch_ms(sure_start_at) as sure_start_at,
    epoch_ms(sure_end_at) as sure_end_at
  )
from concerned
qualify row_number() over (partition by cluster, allocation_id order by revision desc, recorded_at desc) = 1
