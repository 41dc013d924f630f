-- nodes: each node while it was so
with
told as (
  select
    *,
    least(
      coalesce(epoch_ms(end_at), $forever::bigint),
      lead(epoch_ms(start_at), 1, $forever::bigint) over (partition by node order by start_at)
    ) as end_ms
  from nodes
  where cluster = $cluster
)

select
  epoch_ms(start_at) as start_ms,
  end_ms,
  node,
  coalesce(pool, '') as pool,
  coalesce(gpu_count, 0) as gpu_count,
  coalesce(replicas, 1) as replicas,
  coalesce(ready, true) as ready,
  coalesce(schedulable, true) as schedulable
from told
where epoch_ms(start_at) <= $until_ms and end_ms > $from_ms
