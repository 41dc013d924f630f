-- teams: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from teams_versions
qualify
  row_number() over (
    partition by team_id, start_at
    order by
      revision desc, recorded_at desc,
      team desc, end_at desc, department desc, cost_centre desc
  ) = 1
  and (end_at is null or end_at > start_at)
