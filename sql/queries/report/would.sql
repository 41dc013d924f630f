-- would: what the enforcer would have done from $start_at to $end_at while it only planned, by team: each workload once for an act
with
wanted as (
  select
    cluster,
    act,
    cause,
    team,
    object_uid,
    max(frees_parts) as parts
  from actions
  where mode in ('shadow', 'plan') and planned_at >= $start_at and planned_at < $end_at
  group by all
)

select
  act,
  cause,
  team,
  count(*) as workloads,
  sum(parts)::hugeint as parts
from wanted
group by all
order by all
