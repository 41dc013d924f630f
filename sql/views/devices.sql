-- devices: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from devices_versions
qualify
  row_number() over (
    partition by cluster, device_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, node desc, device_index desc, gpu_uuid desc, gi_id desc, mig_uuid desc, kind desc, profile desc, parts desc,
      healthy desc, evidence desc
  ) = 1
  and (end_at is null or end_at > start_at)
