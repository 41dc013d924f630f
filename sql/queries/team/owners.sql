-- owners: the persons of the workloads with the given ids, as they were told last; a person is a pseudonym
select
  cluster,
  workload_id,
  person_id
from owners
where workload_id in (select unnest($ids)) and person_id is not null
