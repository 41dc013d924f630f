-- known_people: persons whose name the ledger has, or had until it was erased: a name that was erased does not come back
with
erased as (
  select person_id
  from lake.people_reads
  where what = 'erase'
),

named as (
  select person_id from lake.people
  union
  select person_id from erased
)

select told.person_id
from told
semi join named on told.person_id = named.person_id
