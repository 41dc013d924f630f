-- sendings: since when each of the sendings called $names is known, and the last word on each letter of theirs
select
  sending,
  epoch_ms(due_at) as due_ms,
  audience,
  channel,
  phase,
  words,
  epoch_ms(told_at) as told_ms
from sendings
where list_contains($names, sending)
qualify
  row_number() over (
    partition by sending, audience, channel, case when phase = 'known' then null else due_at end, phase = 'known'
    order by told_at desc, phase = 'begun'
  ) = 1
