-- gaps: what was not observed in a span, by source and reason: on how many nodes, how often, for how long, and whether still
select
  cluster,
  coalesce(source, '') as source,
  coalesce(covers, '') as covers,
  coalesce(reason, '') as reason,
  count(distinct node) filter (where coalesce(node, '') <> '') as nodes,
  count(*) as gaps,
  count(*) filter (where end_at is null) as still_open,
  sum(
    epoch_ms(least(coalesce(end_at, 'infinity'::timestamptz), make_timestamptz($until_ms::bigint * 1000)))
    - epoch_ms(greatest(start_at, make_timestamptz($from_ms::bigint * 1000)))
  )::bigint as silent_ms
from gaps
where
  start_at < make_timestamptz($until_ms::bigint * 1000)
  and (end_at is null or end_at > make_timestamptz($from_ms::bigint * 1000))
group by all
order by silent_ms desc, cluster, source, covers, reason
