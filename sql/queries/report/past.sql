-- past: what each team owes for the span, and what it held, and of it idle, in it and in the $spans before it
with
owed as (
  select
    team,
    sum(micros) as now_micros
  from span_charges
  where number = 0 and account = 'team'
  group by team
),

used as (
  select
    team,
    coalesce(sum(held) filter (where number = 0), 0) as held,
    coalesce(sum(idle) filter (where number = 0), 0) as idle,
    coalesce(sum(held) filter (where number > 0), 0) as held_before,
    coalesce(sum(idle) filter (where number > 0), 0) as idle_before
  from past_usage
  where number <= $spans
  group by team
)

select
  coalesce(o.team, u.team) as team,
  coalesce(o.now_micros, 0) as now_micros,
  coalesce(u.held, 0) as held,
  coalesce(u.idle, 0) as idle,
  coalesce(u.held_before, 0) as held_before,
  coalesce(u.idle_before, 0) as idle_before
from owed as o
full outer join used as u on o.team = u.team
