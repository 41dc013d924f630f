-- teams: every team that the configuration names until $end_at or that usage has, with its last department
with
named as (
  select
    team,
    department
  from teams
  where start_at < $end_at
  qualify row_number() over (partition by team order by start_at desc) = 1
),

using_gpus as (
  select distinct team
  from usage_daily
  where business_day between $first_day and $last_day and team <> ''
)

select
  coalesce(n.team, u.team) as team,
  coalesce(n.department, '') as department
from named as n
full outer join using_gpus as u on n.team = u.team
