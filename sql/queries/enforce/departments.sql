-- departments: each team's, while it was so
select
  team,
  coalesce(department, '') as department,
  epoch_ms(start_at) as start_ms,
  coalesce(epoch_ms(end_at), $forever::bigint) as end_ms
from teams
order by team, start_at
