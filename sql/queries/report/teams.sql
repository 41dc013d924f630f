-- teams: every team that the configuration names until $end_at, with its last department
select
  team,
  coalesce(department, '') as department
from teams
where start_at < $end_at
qualify row_number() over (partition by team order by start_at desc) = 1
