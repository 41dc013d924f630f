-- silences: exporters that were not heard in a span of time: for how much of it, and why
select
  cluster,
  coalesce(source, '') as source,
  coalesce(node, '') as node,
  arg_max(coalesce(reason, ''), start_at) as reason,
  epoch_ms(min(start_at)) as since_ms,
  bool_or(end_at is null) as lasts,
  sum(
    epoch_ms(least(coalesce(end_at, 'infinity'::timestamptz), make_timestamptz($until_ms::bigint * 1000)))
    - epoch_ms(greatest(start_at, make_timestamptz($from_ms::bigint * 1000)))
  )::bigint as silent_ms
from gaps
where
  covers = 'telemetry'
  and start_at < make_timestamptz($until_ms::bigint * 1000)
  and (end_at is null or end_at > make_timestamptz($from_ms::bigint * 1000))
group by cluster, source, node
order by silent_ms desc, cluster, length(node), node, source
