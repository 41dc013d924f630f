-- standings: the last state of every period that ever had one, and what it is worth now
select
  period,
  revision,
  state,
  calendar,
  time_zone,
  start_day,
  end_day,
  epoch_ms(start_at) as start_ms,
  epoch_ms(end_at) as end_ms,
  epoch_ms(closes_at) as closes_ms,
  number,
  replaces,
  sha256,
  manifest,
  actor,
  second,
  reason,
  epoch_ms(recorded_at) as told_ms
from periods
order by start_day
