-- owed_by_team: what each team owes for the span, by kind of line
select
  team,
  sum(micros) as owed_micros,
  coalesce(sum(micros) filter (where kind = 'base'), 0) as base_micros,
  coalesce(sum(micros) filter (where kind = 'shared'), 0) as shared_micros,
  coalesce(sum(micros) filter (where kind = 'correction'), 0) as correction_micros
from span_charges
where number = 0 and account = 'team'
group by team
order by team
