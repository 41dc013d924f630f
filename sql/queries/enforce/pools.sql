-- pools: each pool with nodes or promises, and the parts of its nodes as they stand, unavailable ones included
with
sizes as (
  select node, sum(parts)::bigint as parts
  from devices
  where cluster = $cluster and epoch_ms(start_at) <= $at_ms and coalesce(epoch_ms(end_at), $forever::bigint) > $at_ms
  group by node
),

last_told as (
  select *
  from nodes
  where cluster = $cluster and epoch_ms(start_at) <= $at_ms
  qualify row_number() over (partition by node order by start_at desc) = 1
),

there as (
  select n.pool, coalesce(d.parts, n.gpu_count * $gpu_parts::bigint, 0) as parts
  from last_told as n
  left join sizes as d on n.node = d.node
  where coalesce(n.pool, '') <> '' and coalesce(epoch_ms(n.end_at), $forever::bigint) > $at_ms
  union all
  select pool, 0 as parts
  from quotas
  where cluster = $cluster and kind = 'promise' and coalesce(epoch_ms(end_at), $forever::bigint) > $at_ms
)

select pool, sum(parts)::bigint as parts
from there
group by pool
order by pool
