-- others: everybody but these persons
select *
from people
where not list_contains($persons, person_id)
order by person_id
