-- audit_head: where a cluster's chain ends
select
  number,
  row_hash
from lake.deed_heads
where cluster = $cluster
order by number desc
limit 1
