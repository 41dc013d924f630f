-- recorded: the plans that are recorded, the last first
select
  cluster,
  plan_hash,
  epoch_ms(planned_at) as at_ms,
  mode,
  body
from plans
where ($cluster is null or cluster = $cluster) and starts_with(plan_hash, $prefix)
order by planned_at desc, cluster
limit $most
