-- cards: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from cards_versions
qualify
  row_number() over (
    partition by card_id, start_at
    order by
      revision desc, recorded_at desc,
      hash(card, end_at, currency, share_unallocated, share_unavailable, share_unobserved, bill_faulted, author) desc
  ) = 1
  and (end_at is null or end_at > start_at)
