-- name: the person's name and contact, if they are there
select
  name,
  contact
from people
where person_id = $person_id
