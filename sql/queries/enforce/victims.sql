-- victims: whom recorded plans would have stopped
select
  cluster,
  cause,
  kind,
  namespace || '/' || name as name,
  team,
  pool,
  workload_id,
  epoch_ms(planned_at) as at_ms,
  frees_parts as parts
from actions
where cluster = $cluster and mode = 'shadow' and act = 'stop'
order by planned_at, namespace, name
