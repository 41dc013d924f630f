-- owners: whose the workloads with these UIDs are, and how that person is reached
select
  w.uid,
  w.workload_id,
  w.person_id,
  coalesce(p.contact, '') as contact
from workloads as w
left join people as p on w.person_id = p.person_id
where w.cluster = $cluster and list_contains($uids, w.uid)
qualify row_number() over (partition by w.uid order by w.start_at desc) = 1
order by w.uid
