-- told_series: what an exporter calls a device, while it does
create or replace temp table told_series as
select
  c.c,
  x.series_id,
  epoch_ms(x.start_at) as s,
  least(
    coalesce(epoch_ms(x.end_at), $forever),
    lead(epoch_ms(x.start_at), 1, $forever) over (partition by c.c, x.series_id order by x.start_at)
  ) as e,
  x.source,
  case x.source when 'dcgm' then 0 when 'nvml' then 1 when 'prometheus' then 2 else 3 end as rank,
  x.node,
  x.gpu_uuid,
  coalesce(x.gi_id, '') as gi_id,
  coalesce(x.target, '') as target,
  dense_rank() over (order by c.c, x.gpu_uuid) as gpu
from series as x
inner join asked_clusters as c on x.cluster = c.cluster
