-- sources: how far who is believed about holders, and each source of telemetry that is asked, are complete
with
asked as (
  select
    source,
    max(interval_ms) as interval_ms
  from targets
  where
    cluster = $cluster
    and epoch_ms(start_at) <= $until_ms and coalesce(epoch_ms(end_at), $forever) > $until_ms
  group by source
),

marks as (
  select
    source,
    covers,
    max(epoch_ms(complete_until_at)) as complete_ms
  from watermarks
  where cluster = $cluster and covers in ('holders', 'telemetry')
  group by source, covers
)

select
  m.source,
  m.covers,
  m.complete_ms,
  coalesce(a.interval_ms, 0) as interval_ms
from marks as m
left join asked as a on m.covers = 'telemetry' and m.source = a.source
where m.covers = 'holders' or a.source is not null or not exists (select 1 from asked)
order by m.covers, m.source
