-- seams: where what is collected begins, soon after an instant: each node's first version, and who is believed first
select
  node,
  epoch_ms(min(start_at)) as start_ms
from nodes
where
  cluster = $cluster
  and start_at >= make_timestamptz($at_ms::bigint * 1000)
  and start_at <= make_timestamptz(($at_ms::bigint + $soon_ms::bigint) * 1000)
group by node
union all by name
select
  '' as node,
  epoch_ms(min(start_at)) as start_ms
from authority
where
  cluster = $cluster
  and start_at >= make_timestamptz($at_ms::bigint * 1000)
  and start_at <= make_timestamptz(($at_ms::bigint + $soon_ms::bigint) * 1000)
having count(*) > 0
