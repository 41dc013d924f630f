-- closing: the closing whose period is just the span's days, and the number of each team's statement in it; team null: what
-- no team bears
select
  p.number,
  p.sha256,
  s.team,
  s.statement
from periods as p
left join statements as s on p.number = s.number
where p.state = 'closed' and p.start_day = $first_day and p.end_day = strftime($last_day::date + 1, '%Y-%m-%d')
order by s.statement
