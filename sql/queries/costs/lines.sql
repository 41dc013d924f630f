-- lines: the $most largest lines of cost of $teams (null: of all, and what no team bears) on the days from $first_day to $last_day,
-- a credit as large as a cost
with largest as (
  select
    charge_id,
    cluster,
    business_day,
    team,
    account,
    kind,
    coalesce(detail, '') as detail,
    workload_id,
    quantity_pms,
    amount,
    currency
  from charges
  where business_day between $first_day and $last_day and ($teams is null or list_contains($teams, team))
  order by abs(amount) desc, charge_id
  limit $most
)

select
  l.*,
  o.kind as workload_kind,
  o.namespace,
  o.name
from largest as l
left join owners as o on l.cluster = o.cluster and l.workload_id = o.workload_id
order by abs(l.amount) desc, l.charge_id
