-- coverage_now: after a look for findings: what was held in the hours that it measured, and what of it is known
select
  coalesce(sum(held_pms), 0)::bigint as held_pms,
  coalesce(sum(held_pms - unknown_pms), 0)::bigint as known_pms
from usage_rows
