-- holdings of an allocation or a device that the ledger does not know, and allocations of an unknown workload
select
  h.cluster,
  h.holding_id as id,
  'holding' as kind,
  case when a.allocation_id is null then 'allocation' else 'device' end as missing
from holdings as h
left join (select distinct cluster, allocation_id from allocations_versions) as a
  on h.cluster = a.cluster and h.allocation_id = a.allocation_id
left join (select distinct cluster, device_id from devices_versions) as d
  on h.cluster = d.cluster and h.device_id = d.device_id
where a.allocation_id is null or d.device_id is null
union all
select
  a.cluster,
  a.allocation_id as id,
  'allocation' as kind,
  'workload' as missing
from allocations as a
left join (select distinct cluster, workload_id from workloads_versions) as w
  on a.cluster = w.cluster and a.workload_id = w.workload_id
where w.workload_id is null
