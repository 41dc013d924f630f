-- sources: how far each source is complete, and the gaps that are open
with
marks as (
  select
    cluster,
    source,
    covers,
    max(complete_until_at) as complete_until_at
  from watermarks
  group by cluster, source, covers
),

open_gaps as (
  select
    cluster,
    source,
    covers,
    count(*) as open_gaps
  from gaps
  where end_at is null
  group by cluster, source, covers
)

select
  coalesce(m.cluster, g.cluster) as cluster,
  coalesce(m.source, g.source) as source,
  coalesce(m.covers, g.covers) as covers,
  epoch_ms(m.complete_until_at) as complete_until_ms,
  coalesce(g.open_gaps, 0) as open_gaps
from marks as m
full outer join open_gaps as g on m.cluster = g.cluster and m.source = g.source and m.covers = g.covers
order by cluster, covers, source
