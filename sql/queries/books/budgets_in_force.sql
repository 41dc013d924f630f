-- budgets_in_force: what each team ($teams; null: all) means to spend in the period: its own budget of it before the one for each
select
  team,
  amount,
  currency,
  alerts
from budgets
where
  (period = '' or period = $period)
  and start_at <= $now_at
  and (end_at is null or end_at > $now_at)
  and ($teams is null or list_contains($teams, team))
qualify row_number() over (partition by team order by period desc, start_at desc) = 1
order by team
