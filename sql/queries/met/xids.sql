-- xids: when telemetry last showed an XID of each GPU in the span that is no application's (NVIDIA's device plugin passes over
-- the same ones)
select
  series.gpu_uuid,
  epoch_ms(max(samples.sampled_at)) as xid_ms
from samples
inner join series
  on
    samples.cluster = series.cluster
    and samples.series_id = series.series_id
    and samples.sampled_at >= series.start_at
    and (series.end_at is null or samples.sampled_at < series.end_at)
where
  samples.cluster = $cluster
  and samples.source = 'dcgm'
  and samples.sampled_at >= make_timestamptz($from_ms::bigint * 1000)
  and samples.sampled_at < make_timestamptz($until_ms::bigint * 1000)
  and samples.xid > 0
  and samples.xid not in (13, 31, 43, 45, 68, 109)
group by series.gpu_uuid
