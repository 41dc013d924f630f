-- guarantees: what was promised, borrowed and lent, by team and pool
select
  cluster,
  pool,
  team,
  sum(guaranteed_pms)::decimal(38, 0) as guaranteed_pms,
  sum(within_pms)::decimal(38, 0) as within_pms,
  sum(borrowed_pms)::decimal(38, 0) as borrowed_pms,
  sum(lent_pms)::decimal(38, 0) as lent_pms
from quota_hourly
where row_start_at >= $start_at and row_start_at < $end_at
group by cluster, pool, team
order by cluster, pool, team
