-- what each department's teams owe, under the cost centre they have now
-- param: from date, optional, the first day
-- param: to date, optional, the last day
with
now_in as (
  select
    team,
    arg_max(department, since_at) as department,
    arg_max(cost_centre, since_at) as cost_centre
  from reporting.teams
  group by team
)

select
  t.department,
  t.cost_centre,
  count(distinct c.team) as teams,
  sum(c.amount)::decimal(38, 2) as amount,
  c.currency
from reporting.costs as c
left join now_in as t on c.team = t.team
where
  c.account = 'team'
  and ($from is null or c.day >= $from)
  and ($to is null or c.day <= $to)
group by t.department, t.cost_centre, c.currency
order by t.department nulls last, t.cost_centre nulls last, c.currency
