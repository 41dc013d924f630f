-- quotas: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from quotas_versions
qualify
  row_number() over (
    partition by cluster, quota_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, team desc, pool desc, guaranteed_parts desc, limit_parts desc, weight desc, kind desc, source desc,
      source_object desc
  ) = 1
  and (end_at is null or end_at > start_at)
