-- findings: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from findings_versions
qualify
  row_number() over (
    partition by cluster, finding_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, kind desc, subject desc, team desc, signals desc, coverage_permille desc, cost desc, currency desc,
      evidence desc, state desc
  ) = 1
  and (end_at is null or end_at > start_at)
