-- metrics_budgets: what each team means to spend in a period; one for that period comes before one for each
select
  team,
  currency,
  amount
from budgets
where period in ('', $period)
qualify row_number() over (partition by team, currency order by period desc, start_at desc) = 1
