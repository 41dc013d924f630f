-- cards: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from cards_versions
qualify
  row_number() over (
    partition by card_id, start_at
    order by
      revision desc, recorded_at desc,
      card desc, end_at desc, currency desc, share_unallocated desc, share_unavailable desc, share_unobserved desc,
      bill_faulted desc, terms desc, author desc, source desc
  ) = 1
  and (end_at is null or end_at > start_at)
