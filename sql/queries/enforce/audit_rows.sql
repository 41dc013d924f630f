-- audit_rows: a cluster's rows of these numbers, as their hashes are made
select
  * exclude (told_at, recorded_at),
  epoch_us(told_at) as told_at
from deeds
where cluster = $cluster and number between $first and $last
order by number, row_hash
