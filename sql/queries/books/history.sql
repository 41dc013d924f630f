-- history: every state that a period was in, or all periods where $period is null, in order
select
  period,
  revision,
  state,
  number,
  replaces,
  sha256,
  manifest,
  actor,
  second,
  reason,
  epoch_ms(recorded_at) as told_ms
from periods_versions
where $period::varchar is null or period = $period
order by recorded_at, period, revision
