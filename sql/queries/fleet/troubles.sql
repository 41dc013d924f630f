-- troubles: devices that were not healthy and nodes that took nothing, in a span of time: since when
with
instances as (
  select
    cluster,
    node,
    case when kind = 'gpu' then 'GPU ' else coalesce(profile, kind) || ' of GPU ' end
    || coalesce(device_index::varchar, '?') as what,
    'not healthy' as trouble,
    start_at,
    end_at
  from devices
  where not healthy
),

closed as (
  select
    cluster,
    node,
    'the whole node' as what,
    case when not ready then 'not ready' else 'cordoned' end as trouble,
    start_at,
    end_at
  from nodes
  where not (ready and schedulable) and gpu_count > 0
),

all_of as (
  select * from instances
  union all by name
  select * from closed
)

select
  cluster,
  coalesce(node, '') as node,
  what,
  trouble,
  epoch_ms(start_at) as since_ms
from all_of
where
  start_at < make_timestamptz($until_ms::bigint * 1000)
  and (end_at is null or end_at > make_timestamptz($from_ms::bigint * 1000))
order by cluster, length(node), node, what, start_at
