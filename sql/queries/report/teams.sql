-- teams: every team that the configuration names until $end_at, with its last department and cost centre
select
  team,
  coalesce(department, '') as department,
  coalesce(cost_centre, '') as cost_centre
from teams
where start_at < $end_at
qualify row_number() over (partition by team order by start_at desc) = 1
