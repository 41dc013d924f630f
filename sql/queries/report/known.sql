-- known: how far the roll-up has read every cluster
select epoch_ms(min(rolled_until_at)) as known_until_ms
from (
  select max(rolled_until_at) as rolled_until_at from rollup_marks
  group by cluster
) as clusters
