-- statements: what teams were told at a closing
select
  statement,
  team,
  currency,
  amount,
  exact_amount
from statements
where period = $period and number = $number
