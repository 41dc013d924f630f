-- known_holdings: every version that counts of the holdings of some allocations, with the highest revision told, withdrawn ones too
with
told as (
  select holding_id, start_at, any_value(allocation_id) as allocation_id, max(revision) as spent
  from holdings_versions
  where cluster = $cluster and list_contains($allocations::bigint[], allocation_id)
  group by holding_id, start_at
)

select
  told.holding_id,
  epoch_ms(told.start_at) as start_at,
  told.spent,
  told.allocation_id,
  holdings.device_id,
  holdings.parts,
  holdings.evidence,
  holdings.revision,
  epoch_ms(holdings.end_at) as end_at
from told
left join holdings
  on
    holdings.cluster = $cluster
    and told.holding_id = holdings.holding_id
    and told.start_at = holdings.start_at
