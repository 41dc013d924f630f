-- findings: the last version of each disagreement of sources
select
  finding_id,
  revision,
  epoch_ms(start_at) as start_ms,
  epoch_ms(coalesce(end_at, start_at)) as end_ms
from findings
where cluster = $cluster and kind = 'sources disagree'
qualify row_number() over (partition by finding_id order by start_at desc) = 1
