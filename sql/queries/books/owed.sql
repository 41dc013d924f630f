-- owed: what the period's lines come to, by team (null: what no team bears) and currency; departments as the period ended
with
last_teams as (
  select
    team,
    department,
    cost_centre
  from teams
  where start_at < $end_at and (end_at is null or end_at >= $end_at)
  qualify row_number() over (partition by team order by start_at desc) = 1
),

sums as (
  select
    case when account = 'team' then team end as team,
    currency,
    sum(amount) as exact_amount
  from charges
  where business_day >= $start_day and business_day < $end_day
  group by all
)

select
  s.team,
  coalesce(t.department, '') as department,
  coalesce(t.cost_centre, '') as cost_centre,
  s.currency,
  s.exact_amount::decimal(18, 6) as exact_amount
from sums as s
left join last_teams as t on s.team = t.team
order by s.currency, s.team
