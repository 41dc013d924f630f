-- moves: how much of each guarantee was moved, each move that stands or began since $since_ms
select
  quota_id,
  team,
  pool,
  case kind when 'offer' then -guaranteed_parts else guaranteed_parts end as parts,
  epoch_ms(start_at) as start_ms,
  epoch_ms(end_at) as end_ms,
  revision
from quotas
where
  cluster = $cluster and source = 'rebalance'
  and (start_at >= make_timestamptz($since_ms::bigint * 1000) or coalesce(end_at > make_timestamptz($at_ms::bigint * 1000), true))
order by start_at, pool, team
