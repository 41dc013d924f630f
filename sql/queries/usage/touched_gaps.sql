-- touched spans of gaps and series: also what the samples beside them say; a gap of quotas makes what is promised stand on
insert into touched
select
  t.from_ms - $longest_hold_ms as from_ms,
  case
    when
      $may_hold_quotas and exists (
        select 1 from gaps_versions as g
        where g.cluster = $cluster and g.covers = 'quota' and g.gap_id = t.entity
      ) then $forever
    else t.until_ms + $longest_hold_ms
  end as until_ms
from touched_spans as t
