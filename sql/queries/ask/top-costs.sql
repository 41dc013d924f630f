-- the workloads that cost most, with their team
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
-- param: top integer, default 20, how many rows at most
with cost as (
  select
    cluster,
    workload_id,
    team,
    currency,
    sum(amount) as amount
  from reporting.costs
  where
    workload_id is not null
    and account = 'team'
    and ($from is null or day >= $from)
    and ($to is null or day <= $to)
    and ($team is null or team = $team)
  group by cluster, workload_id, team, currency
)

select
  c.team,
  w.namespace,
  w.kind,
  w.name,
  c.amount::decimal(38, 2) as amount,
  c.currency
from cost as c
left join reporting.workloads as w on c.cluster = w.cluster and c.workload_id = w.workload_id and c.team = w.team
order by c.amount desc, c.team, w.name
limit $top
