-- gaps: what was not observed of these nodes, or of the whole cluster, in [from_ms, until_ms), and why
select
  covers,
  coalesce(source, '') as source,
  coalesce(node, '') as node,
  coalesce(reason, '') as reason,
  epoch_ms(start_at) as start_ms,
  epoch_ms(end_at) as end_ms
from gaps
where
  cluster = $cluster
  and covers in ('holders', 'telemetry')
  and (coalesce(node, '') = '' or list_contains($nodes::varchar[], node))
  and epoch_ms(start_at) < $until_ms
  and coalesce(epoch_ms(end_at), $until_ms) > $from_ms
order by start_ms, covers, source, node
