-- fx: the exchange rates recorded for the period
select * exclude (recorded_at)
from fx
where start_day < $end_day and end_day > $start_day
order by from_currency, to_currency, start_day, fx_id
