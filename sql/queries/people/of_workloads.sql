-- of_workloads: whose the workloads with the given ids are, of those whose name the ledger knows
select
  w.cluster,
  w.workload_id,
  p.person_id,
  p.name
from workloads as w
inner join people as p on w.person_id = p.person_id
where w.workload_id in (select unnest($ids)) and p.name <> ''
qualify row_number() over (partition by w.cluster, w.workload_id order by w.start_at desc, p.recorded_at desc) = 1
order by w.cluster, w.workload_id
