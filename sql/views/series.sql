-- series: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from series_versions
qualify
  row_number() over (
    partition by cluster, series_id, start_at
    order by
      revision desc, recorded_at desc,
      hash(end_at, source, node, gpu_uuid, gi_id, vgpu, profile, model, device_index, kind, label_generation, target) desc
  ) = 1
  and (end_at is null or end_at > start_at)
