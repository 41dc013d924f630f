-- what is found now: idle, stalled, forgotten, starving, borrowed; since when, what it cost so far, and how many doubts there are
select
  cluster,
  kind,
  subject,
  team,
  start_at as since,
  cost,
  currency,
  coalesce(json_array_length(evidence, '$.doubts'), 0) as doubts
from findings
where end_at is null
order by cost desc nulls last, kind, subject
