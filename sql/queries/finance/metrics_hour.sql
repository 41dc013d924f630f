-- metrics_hour: who held what in each cluster's last hour that is rolled up whole; team null: nobody
with
last_hours as (
  select
    cluster,
    max(rolled_until_at) as end_at
  from rollup_marks
  group by cluster
)

select
  u.cluster,
  coalesce(u.pool, '') as pool,
  u.team,
  sum(u.capacity_pms)::hugeint as capacity_pms,
  sum(u.computing_pms)::hugeint as computing_pms,
  sum(u.idle_pms)::hugeint as idle_pms,
  sum(u.unknown_pms)::hugeint as unknown_pms,
  sum(u.unallocated_pms)::hugeint as unallocated_pms,
  sum(u.unavailable_pms)::hugeint as unavailable_pms,
  sum(u.unobserved_pms)::hugeint as unobserved_pms
from usage_hourly as u
inner join last_hours as h on u.cluster = h.cluster
where u.row_start_at >= h.end_at - interval 1 hour and u.row_start_at < h.end_at
group by u.cluster, coalesce(u.pool, ''), u.team
