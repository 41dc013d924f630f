-- spoken: each sample with what its exporter called the device then
select
  samples.cluster,
  samples.source,
  samples.series_id,
  samples.sampled_at,
  samples.label_ref,
  series.node,
  series.gpu_uuid,
  series.gi_id,
  series.vgpu,
  series.profile,
  series.model,
  series.device_index
from samples
inner join series
  on
    samples.cluster = series.cluster
    and samples.series_id = series.series_id
    and samples.sampled_at >= series.start_at
    and (series.end_at is null or samples.sampled_at < series.end_at)
