-- closed: the periods whose books are closed, in order
select
  period,
  start_day,
  end_day,
  epoch_ms(start_at) as start_ms,
  epoch_ms(end_at) as end_ms,
  number
from periods
where state = 'closed'
order by start_day
