-- coverage_of_pools: after a look for findings: of each pool, what was held in the hours that it measured, and is known
select
  pool,
  sum(held_pms)::bigint as held_pms,
  sum(held_pms - unknown_pms)::bigint as known_pms
from usage_rows
where held_pms > 0
group by pool
order by pool
