-- growth: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from growth_versions
qualify
  row_number() over (
    partition by cluster, growth_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, pool desc, limit_parts desc, coming_parts desc, source desc, source_object desc
  ) = 1
  and (end_at is null or end_at > start_at)
