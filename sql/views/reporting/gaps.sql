-- gaps: when a source was not observed, and why; until_at null: it is not observed still
select
  cluster,
  source,
  covers,
  node,
  target,
  reason,
  start_at as since_at,
  end_at as until_at
from main.gaps
