-- devices and allocations that go on though their node has ended
with
ends as (
  select
    cluster,
    node,
    max(coalesce(epoch_ms(end_at), 9000000000000000)) as until
  from nodes
  group by all
),

intervals as (
  select
    cluster,
    node,
    'device' as kind,
    device_id as id,
    max(coalesce(epoch_ms(end_at), 9000000000000000)) as until
  from devices
  group by all
  union all
  select
    cluster,
    node,
    'allocation' as kind,
    allocation_id as id,
    max(coalesce(epoch_ms(end_at), 9000000000000000)) as until
  from allocations
  where node <> ''
  group by all
)

select
  i.cluster,
  i.node,
  i.kind,
  i.id,
  make_timestamptz(e.until * 1000) as node_ended_at
from intervals as i
inner join ends as e on i.cluster = e.cluster and i.node = e.node
where i.until > e.until and i.until = 9000000000000000
