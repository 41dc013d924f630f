-- missing_exchange: the first currency and day of the charges from $first_day to $last_day with no recorded rate in $currency
select
  c.currency,
  c.business_day
from charges as c
where
  c.business_day between $first_day and $last_day
  and c.currency <> $currency
  and not exists (
    select 1
    from fx as f
    where
      f.from_currency = c.currency
      and f.to_currency = $currency
      and c.business_day >= f.start_day
      and c.business_day < f.end_day
  )
order by c.business_day, c.currency
limit 1
