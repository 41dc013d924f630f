-- owed_before: what the week before cost: what each team owed, and (team null) what nobody held
select
  team,
  (coalesce(sum(amount) filter (where account = 'team'), 0) * 1000000)::hugeint as owed_micros,
  (
    coalesce(sum(amount) filter (where kind in ('base', 'unallocated', 'unavailable', 'unobserved')), 0) * 1000000
  )::hugeint as pool_micros
from week_charges
where not in_week
group by team
