-- figures: the sums of the week's rows for everything, each business day and team, each team, each pool and model.
-- uncharged is the capacity that has no charge
select
  case grouping(business_day, team, cluster)
    when 7 then 'all' when 1 then 'day' when 5 then 'team' else 'pool'
  end as level,
  business_day,
  team,
  cluster,
  pool,
  model,
  sum(columns(* exclude (business_day, cluster, pool, model, team, workload_id, activity_peak, power_peak))),
  sum(held + unallocated + unavailable + unobserved - charged) as uncharged,
  sum(held) filter (where team = 'unassigned') as unassigned,
  count(*) as row_count
from week_rows
group by grouping sets ((), (business_day, team), (team), (cluster, pool, model))
