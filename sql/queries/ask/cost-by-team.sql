-- what each team owes, by kind of line; all lines together are the pools' cost
select
  team,
  kind,
  sum(amount)::decimal(38, 2) as amount,
  currency
from charges
group by team, kind, currency
order by team, kind, currency
