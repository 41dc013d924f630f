-- what no team rule matches, by namespace: the rules to write next
select
  a.cluster,
  a.namespace,
  count(distinct a.allocation_id) as allocations,
  round(sum(u.held_pms) / 604800000000.0, 2) as held_gpu_h
from usage_hourly as u
inner join allocations as a on u.cluster = a.cluster and u.allocation_id = a.allocation_id
where u.team = 'unassigned'
group by a.cluster, a.namespace
order by held_gpu_h desc, a.cluster, a.namespace
