-- thresholds: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from thresholds_versions
qualify
  row_number() over (
    partition by threshold_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, signal desc, workload_kind desc, model desc, floor desc, measured_how desc
  ) = 1
  and (end_at is null or end_at > start_at)
