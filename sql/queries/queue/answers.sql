-- answers: what the last plan of each cluster that is of this hour answered those who wait
select
  cluster,
  epoch_ms(planned_at) as planned_ms,
  body
from plans
where planned_at > make_timestamptz($at_ms::bigint * 1000) - interval 1 hour
qualify row_number() over (partition by cluster order by planned_at desc) = 1
order by cluster
