-- known_devices: a cluster's open devices that telemetry told of
select * exclude (recorded_at) replace (epoch_ms(start_at) as start_at, epoch_ms(end_at) as end_at)
from devices
where cluster = $cluster and end_at is null and evidence = 'telemetry'
