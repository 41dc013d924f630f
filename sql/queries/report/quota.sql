-- quota: what each team was promised, borrowed and lent from $start_at to $end_at, over all pools
select
  team,
  sum(guaranteed_pms) as guaranteed,
  sum(within_pms) as within,
  sum(borrowed_pms) as borrowed,
  sum(lent_pms) as lent
from quota_hourly
where row_start_at >= $start_at and row_start_at < $end_at
group by team
