-- complete: up to when all sources of a cluster that go on have told (history has an end); null where none has
with
each_source as (
  select source, covers, max(complete_until_at) as complete_until_at
  from watermarks
  where cluster = $cluster and source not in ('prometheus', 'kube-state-metrics')
  group by source, covers
)

select epoch_ms(min(complete_until_at)) as complete_until_ms
from each_source
