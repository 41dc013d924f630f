-- accounts: for each business day of a span, each team's department and cost centre, as they stood when the day ended
-- export_days(business_day, start_ms, end_ms, …) is given
select
  d.business_day,
  t.team,
  t.department,
  t.cost_centre
from export_days as d
inner join teams as t
  on t.start_at < make_timestamptz(d.end_ms * 1000) and (t.end_at is null or t.end_at > make_timestamptz(d.start_ms * 1000))
qualify row_number() over (partition by d.business_day, t.team order by t.start_at desc, t.team_id desc) = 1
