-- what the enforcer did, meant and refused, newest first
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
-- param: cluster varchar, optional, the cluster; all without it
-- param: top integer, default 100, how many rows at most
select
  told_at,
  cluster,
  phase,
  act,
  team,
  kind,
  namespace,
  name,
  gpus,
  cause,
  result,
  words
from reporting.acts
where
  ($from is null or told_at::date >= $from)
  and ($to is null or told_at::date <= $to)
  and ($team is null or team = $team)
  and ($cluster is null or cluster = $cluster)
order by told_at desc, cluster, number desc
limit $top
