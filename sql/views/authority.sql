-- authority: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from authority_versions
qualify
  row_number() over (
    partition by cluster, authority_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, source desc, rank desc, kind desc
  ) = 1
  and (end_at is null or end_at > start_at)
