-- targets: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from targets_versions
qualify
  row_number() over (
    partition by cluster, target_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, source desc, target desc, node desc, interval_ms desc
  ) = 1
  and (end_at is null or end_at > start_at)
