-- exchanges: every exchange rate, by currencies and day
select
  from_currency,
  to_currency,
  rate,
  start_day,
  end_day,
  source,
  author
from fx
order by from_currency, to_currency, start_day
