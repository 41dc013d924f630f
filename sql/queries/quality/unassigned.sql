-- unassigned: the namespaces whose workloads no team rule matches, and what they held between two business days
select
  u.cluster,
  coalesce(o.namespace, '') as namespace,
  count(distinct u.workload_id) as workloads,
  sum(u.held_pms)::hugeint as held_pms
from usage_daily as u
left join owners as o on u.cluster = o.cluster and u.workload_id = o.workload_id
where u.business_day between $first_day and $last_day and u.team = 'unassigned'
group by u.cluster, o.namespace
order by held_pms desc, u.cluster, namespace
limit 20
