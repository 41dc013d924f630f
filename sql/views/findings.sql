-- findings: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from findings_versions
qualify
  row_number() over (
    partition by cluster, finding_id, start_at
    order by
      revision desc, recorded_at desc,
      hash(end_at, kind, subject, team, signals, coverage_permille, cost, currency, evidence, state) desc
  ) = 1
  and (end_at is null or end_at > start_at)
