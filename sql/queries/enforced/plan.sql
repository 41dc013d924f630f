-- plan: the last that is recorded of a cluster
select
  plan_hash,
  mode,
  epoch_ms(planned_at) as planned_ms,
  body
from plans
where cluster = $cluster
order by planned_at desc
limit 1
