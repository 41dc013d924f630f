-- last_pages: the last page of each device before an instant, as far back as a node outlives its last page
select
  series.node,
  series.gpu_uuid,
  series.gi_id,
  epoch_ms(max(samples.sampled_at)) as last_ms
from samples
inner join series on samples.cluster = series.cluster and samples.series_id = series.series_id
where
  samples.cluster = $cluster
  and samples.source = $source
  and list_contains($nodes::varchar[], series.node)
  and samples.sampled_at >= make_timestamptz(($before_ms::bigint - $life_ms::bigint) * 1000)
  and samples.sampled_at < make_timestamptz($before_ms::bigint * 1000)
group by all
