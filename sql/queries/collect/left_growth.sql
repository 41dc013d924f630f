-- left_growth: growth of an earlier life that nobody tells of any more, ended when that was seen
select
  * exclude (recorded_at) replace (
    epoch_ms(start_at) as start_at,
    greatest(epoch_ms(start_at), $at_ms) as end_at,
    revision + 1 as revision
  )
from lake.growth
where
  cluster = $cluster
  and source = $source
  and end_at is null
  and not list_contains($present::bigint[], growth_id)
