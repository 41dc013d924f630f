-- notifications: warnings that were sent to the person as the owner of a workload
select
  n.cluster,
  n.workload_id,
  n.stage,
  n.sent_at,
  n.channel,
  n.accepted
from notifications as n
inner join (
  select distinct
    cluster,
    workload_id
  from workloads
  where person_id = $person_id
) as w on n.cluster = w.cluster and n.workload_id = w.workload_id
where n.addressee = 'owner'
order by n.sent_at, n.cluster, n.workload_id
