-- left_devices: devices of an earlier life that are there no more, and all of nodes that are not, ended when that was seen;
-- beside Kubernetes what telemetry names is not the census' to end, on a host that is looked at it is all there is
select
  * exclude (recorded_at) replace (
    epoch_ms(start_at) as start_at,
    greatest(epoch_ms(start_at), $at_ms) as end_at,
    revision + 1 as revision
  )
from lake.devices
where
  cluster = $cluster
  and end_at is null
  and (
    (
      (evidence in ('dra', 'kubelet', 'assumed') or $source::varchar in ('nvml', 'slurm'))
      and not list_contains($present::bigint[], device_id)
    )
    or not list_contains($nodes::varchar[], node)
  )
