-- series: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from series_versions
qualify
  row_number() over (
    partition by cluster, series_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, source desc, node desc, gpu_uuid desc, gi_id desc, vgpu desc, profile desc, model desc, device_index desc,
      kind desc, label_generation desc, target desc
  ) = 1
  and (end_at is null or end_at > start_at)
