-- what is found now: idle, stalled, forgotten, starving, borrowed; since when, what it cost so far, and how many doubts there are
-- param: team varchar, optional, the team; all without it
select
  cluster,
  kind,
  subject,
  team,
  since_at,
  cost,
  currency,
  doubts
from reporting.findings
where
  until_at is null
  and ($team is null or team = $team)
order by cost desc nulls last, kind, subject
