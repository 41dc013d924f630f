-- deeds: what the person did through the enforcer
select
  cluster,
  number,
  told_at,
  phase,
  act,
  kind,
  namespace,
  name,
  result,
  words
from deeds
where actor = $pseudonym
order by cluster, number
