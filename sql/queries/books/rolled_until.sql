-- rolled_until: until when the usage of every cluster is written; null: of none
select min(until_ms) as until_ms
from (
  select
    cluster,
    epoch_ms(max(rolled_until_at)) as until_ms
  from rollup_marks
  group by cluster
) as marks
