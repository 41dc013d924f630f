-- metrics_marks: how far each cluster is rolled up
select
  cluster,
  epoch_ms(max(rolled_until_at)) as rolled_until_ms
from rollup_marks
group by cluster
