-- reads: who looked at what is known of the person, and when
select
  reader,
  what,
  read_at
from people_reads
where person_id = $person_id
order by read_at
