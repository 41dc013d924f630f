-- acts: the audit: what the enforcer meant to do, what came of it, and what it refused
select
  cluster,
  number,
  told_at,
  phase,
  act,
  team,
  pool,
  kind,
  namespace,
  name,
  ((frees_parts * 1000 + 84) // 168)::decimal(18, 0) * 0.000001 as gpus,
  cause,
  result,
  words,
  actor,
  plan_hash
from main.deeds
