-- telemetry series that samples name and the ledger does not know
select
  s.cluster,
  s.series_id,
  s.samples
from (
  select
    cluster,
    series_id,
    count(*) as samples
  from samples
  group by all
) as s
left join (select distinct cluster, series_id from series_versions) as k
  on s.cluster = k.cluster and s.series_id = k.series_id
where k.series_id is null
