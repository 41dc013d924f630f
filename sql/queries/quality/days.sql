-- days: how much of each business day is known, by cluster; of a reader with teams, of what these held
select
  cluster,
  business_day as day,
  sum(capacity_pms)::hugeint as capacity_pms,
  sum(held_pms)::hugeint as held_pms,
  sum(unknown_pms)::hugeint as unknown_pms,
  sum(unobserved_pms)::hugeint as unobserved_pms,
  sum(estimated_pms)::hugeint as estimated_pms,
  sum(overbooked_pms)::hugeint as overbooked_pms,
  coalesce(sum(held_pms) filter (where team = 'unassigned'), 0)::hugeint as unassigned_pms
from usage_daily
where
  business_day between $first_day and $last_day
  and ($teams is null or list_contains($teams::varchar[], team))
group by cluster, business_day
order by business_day, cluster
