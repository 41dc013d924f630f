-- charges_in: the charges from $first_day to $last_day in $currency: each line is what the running sum of its cluster, day, pool
-- and model grows by, rounded half up, so that they add up to their sum × rate; what has counter-lines is summed by itself
with
rated as (
  select
    c.*,
    case when c.currency = $currency then 1000000000 else (f.rate * 1000000000)::bigint end as rate_nano,
    (trunc(c.amount)::bigint::hugeint * 1000000) + ((c.amount - trunc(c.amount)) * 1000000)::bigint as micros,
    c.kind in ('adjustment', 'shared', 'clearing') as is_cleared
  from charges as c
  left join fx as f
    on
      f.from_currency = c.currency
      and f.to_currency = $currency
      and c.business_day >= f.start_day
      and c.business_day < f.end_day
  where c.business_day between $first_day and $last_day
),

running as (
  select
    *,
    sum(micros) over (
      partition by cluster, business_day, pool, model, currency, is_cleared
      order by charge_id
      rows between unbounded preceding and current row
    ) as so_far
  from rated
),

-- floors, also below zero: whole divisions go towards zero
reckoned as (
  select
    *,
    (so_far * rate_nano + 500000000 - ((so_far * rate_nano + 500000000) % 1000000000 + 1000000000) % 1000000000)
    // 1000000000 as now_micros,
    (
      (so_far - micros) * rate_nano + 500000000
      - (((so_far - micros) * rate_nano + 500000000) % 1000000000 + 1000000000) % 1000000000
    )
    // 1000000000 as before_micros
  from running
)

select
  * exclude (amount, unit_price, currency, rate_nano, micros, is_cleared, so_far, now_micros, before_micros),
  unit_price,
  currency as charged_in,
  (now_micros - before_micros)::decimal(28, 0) * 0.000001::decimal(6, 6) as amount,
  $currency
from reckoned
