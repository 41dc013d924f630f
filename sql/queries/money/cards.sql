-- cards: every rate card, in order of its start
select
  card,
  epoch_ms(start_at) as start_ms,
  coalesce(epoch_ms(end_at), $forever_ms) as end_ms,
  currency,
  share_unallocated,
  share_unavailable,
  share_unobserved,
  bill_faulted,
  coalesce(terms, '{}') as terms
from cards
order by start_at, card
