-- disagreements: what sources do not agree about, in a span, newest first; of a reader with teams, what is about their workloads
select
  cluster,
  kind,
  subject,
  coalesce(team, '') as team,
  epoch_ms(start_at) as since_ms,
  epoch_ms(end_at) as until_ms
from findings
where
  list_contains($kinds::varchar[], kind)
  and start_at < make_timestamptz($until_ms::bigint * 1000)
  and (end_at is null or end_at > make_timestamptz($from_ms::bigint * 1000))
  and ($teams is null or list_contains($teams::varchar[], team))
order by start_at desc, cluster, kind, subject
limit 200
