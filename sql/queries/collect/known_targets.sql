-- known_targets: the open versions of the targets that a collector tells
select known.* exclude (recorded_at) replace (epoch_ms(known.start_at) as start_at, epoch_ms(known.end_at) as end_at)
from lake.targets as known
semi join told on known.cluster = told.cluster and known.target_id = told.target_id
where known.end_at is null
