-- allocations: each claim on GPUs while the period lasted: whose it was, from when to when, and the time it held
select
  cluster,
  allocation_id,
  workload_id,
  team,
  pool,
  model,
  min(row_start_at) as start_at,
  max(row_end_at) as end_at,
  sum(held_pms)::decimal(38, 0) as held_pms,
  sum(computing_pms)::decimal(38, 0) as computing_pms,
  sum(idle_pms)::decimal(38, 0) as idle_pms,
  sum(unknown_pms)::decimal(38, 0) as unknown_pms,
  sum(faulted_pms)::decimal(38, 0) as faulted_pms,
  sum(borrowed_pms)::decimal(38, 0) as borrowed_pms
from usage_hourly
where row_start_at >= $start_at and row_start_at < $end_at and allocation_id is not null
group by cluster, allocation_id, workload_id, team, pool, model
order by cluster, allocation_id, workload_id, team, pool, model
