-- findings: what is noticed in a cluster and open; of a reader with teams, of theirs
select
  kind,
  subject,
  coalesce(team, '') as team,
  epoch_ms(start_at) as since_ms,
  cost,
  coalesce(currency, '') as currency,
  coalesce(json_array_length(case when json_valid(evidence) then evidence end, '$.doubts'), 0)::bigint as doubts
from findings
where
  cluster = $cluster
  and end_at is null
  and ($teams is null or list_contains($teams::varchar[], team))
order by cost desc nulls last, start_at, kind, subject
limit 200
