-- known: whether the ledger knows the person
select count(*) > 0 as known
from (
  select person_id
  from people
  where person_id = $person_id
  union all
  select person_id
  from workloads
  where person_id = $person_id
  union all
  select $person_id
  from requests
  where asked_by = $pseudonym
  union all
  select $person_id
  from deeds
  where actor = $pseudonym
) as found
