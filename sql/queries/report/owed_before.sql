-- owed_before: what the span before cost: what each team owed, and (team null) what nobody held
select
  team,
  coalesce(sum(micros) filter (where account = 'team'), 0) as owed_micros,
  coalesce(sum(micros) filter (where kind in ('base', 'unallocated', 'unavailable', 'unobserved')), 0) as pool_micros
from span_charges
where number = 1
group by team
