-- teams: each team with its department and cost centre, and since when it is so
select
  team,
  department,
  cost_centre,
  start_at as since_at,
  end_at as until_at
from main.teams
