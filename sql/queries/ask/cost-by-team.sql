-- what each team owes, by kind of line
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
select
  team,
  kind,
  sum(amount)::decimal(38, 2) as amount,
  currency
from reporting.costs
where
  account = 'team'
  and ($from is null or day >= $from)
  and ($to is null or day <= $to)
  and ($team is null or team = $team)
group by team, kind, currency
order by team, kind, currency
