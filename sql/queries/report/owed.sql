-- owed: what the days from $first_day to $last_day cost: what each team owes, and (team null) what nobody held
select
  team,
  (sum(amount) filter (where account = 'team')::decimal(38, 6) * 1000000)::hugeint as owed_micros,
  (
    sum(amount) filter (where kind in ('base', 'unallocated', 'unavailable', 'unobserved'))::decimal(38, 6) * 1000000
  )::hugeint as pool_micros
from charges
where business_day between $first_day and $last_day and ($team is null or team = $team)
group by team
