-- holdings: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from holdings_versions
qualify
  row_number() over (
    partition by cluster, holding_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, allocation_id desc, device_id desc, parts desc, evidence desc
  ) = 1
  and (end_at is null or end_at > start_at)
