-- known_series: the open versions of the series that a collector tells
select known.* exclude (recorded_at) replace (epoch_ms(known.start_at) as start_at, epoch_ms(known.end_at) as end_at)
from lake.series as known
semi join told on known.cluster = told.cluster and known.series_id = told.series_id
where known.end_at is null
