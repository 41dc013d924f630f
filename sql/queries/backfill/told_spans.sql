-- told_spans: the spans of which somebody has told who held what, null where they still do
select
  source,
  rank,
  epoch_ms(start_at) as start_ms,
  epoch_ms(end_at) as end_ms
from authority
where cluster = $cluster
order by start_ms
