-- ledger_sums: what the lines of a span come to, by team (null: the fleet), entry and currency; departments as the span ended
with
last_teams as (
  select
    team,
    department,
    cost_centre
  from teams
  where start_at < make_timestamptz($end_ms * 1000) and (end_at is null or end_at >= make_timestamptz($end_ms * 1000))
  qualify row_number() over (partition by team order by start_at desc) = 1
),

lines as (
  select
    case when account = 'team' then team end as team,
    case
      when account <> 'team' then 'own'
      when kind = 'correction' then 'corrections'
      when kind = 'base' then 'usage'
      when kind = 'shared' then 'shared'
      else 'adjustments'
    end as entry,
    currency,
    amount
  from charges
  where business_day >= $first_day and business_day < $end_day
)

select
  l.team,
  coalesce(any_value(t.department), '') as department,
  coalesce(any_value(t.cost_centre), '') as cost_centre,
  l.entry,
  l.currency,
  sum(l.amount)::decimal(18, 6) as amount
from lines as l
left join last_teams as t on l.team = t.team
group by l.team, l.entry, l.currency
order by l.currency, l.team nulls first, l.entry
