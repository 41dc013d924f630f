-- devices: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from devices_versions
qualify
  row_number() over (
    partition by cluster, device_id, start_at
    order by
      revision desc, recorded_at desc,
      hash(end_at, node, device_index, gpu_uuid, gi_id, mig_uuid, kind, profile, parts, healthy, evidence) desc
  ) = 1
  and (end_at is null or end_at > start_at)
