-- recorded: the last plan that is recorded, of those whose hash begins so
select
  plan_hash,
  mode,
  epoch_ms(planned_at) as planned_ms,
  body
from plans
where ($cluster is null or cluster = $cluster) and starts_with(plan_hash, $prefix)
order by planned_at desc, cluster
limit 1
