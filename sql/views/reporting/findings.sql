-- findings: what was noticed, since when, until when (null: still), what it cost, and how many doubts there are about it
select
  cluster,
  finding_id,
  kind,
  subject,
  team,
  start_at as since_at,
  end_at as until_at,
  coverage_permille::decimal(9, 0) * 0.1 as coverage_percent,
  cost,
  currency,
  state,
  coalesce(json_array_length(case when json_valid(evidence) then evidence end, '$.doubts'), 0) as doubts
from main.findings
