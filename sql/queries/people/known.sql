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
) as found
