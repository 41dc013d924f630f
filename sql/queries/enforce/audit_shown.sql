-- audit_shown: the last rows of a cluster's chain, or those of one number or beginning of a hash
with
found as (
  select *
  from deeds
  where
    cluster = $cluster
    and ($every or number = $number or starts_with(row_hash, $prefix))
  order by number desc
  limit $most
)

select
  * exclude (told_at, recorded_at),
  epoch_us(told_at) as told_at
from found
order by number
