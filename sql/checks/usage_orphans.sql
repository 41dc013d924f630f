-- usage rows that name an allocation, a workload or a node which the ledger does not know
select
  u.cluster,
  u.row_start_at,
  u.node,
  u.allocation_id,
  u.workload_id,
  case
    when u.allocation_id is not null and a.allocation_id is null then 'allocation'
    when u.workload_id is not null and w.workload_id is null then 'workload'
    else 'node'
  end as missing
from usage_hourly as u
left join (select distinct cluster, allocation_id from allocations_versions) as a
  on u.cluster = a.cluster and u.allocation_id = a.allocation_id
left join (select distinct cluster, workload_id from workloads_versions) as w
  on u.cluster = w.cluster and u.workload_id = w.workload_id
left join (select distinct cluster, node from nodes_versions) as n
  on u.cluster = n.cluster and u.node = n.node
where
  (u.allocation_id is not null and a.allocation_id is null)
  or (u.workload_id is not null and w.workload_id is null)
  or (u.node is not null and u.node <> '' and n.node is null)
