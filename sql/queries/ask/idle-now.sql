-- what holds GPUs and does nothing at this moment: since when, what it cost so far, and how many doubts there are
-- param: team varchar, optional, the team; all without it
-- param: cluster varchar, optional, the cluster; all without it
select
  cluster,
  team,
  kind,
  subject,
  since_at,
  cost,
  currency,
  coverage_percent,
  doubts
from reporting.findings
where
  until_at is null
  and kind in ('idle workload', 'partly idle workload', 'forgotten workspace', 'stalled workload')
  and ($team is null or team = $team)
  and ($cluster is null or cluster = $cluster)
order by cost desc nulls last, since_at, subject
