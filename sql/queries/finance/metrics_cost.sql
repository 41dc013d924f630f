-- metrics_cost: what each team owes of a period so far (team null: what no team bears)
select
  case when account = 'team' then team end as team,
  currency,
  sum(amount)::decimal(18, 6) as amount
from charges
where business_day >= $first_day and business_day < $end_day
group by all
