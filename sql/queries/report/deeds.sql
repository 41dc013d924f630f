-- deeds: what the enforcer meant to do from $start_at to $end_at, and what came of it last, by team
with
ended as (
  select
    cluster,
    intent,
    max_by(result, number) as result
  from deeds
  where phase = 'outcome' and told_at >= $start_at
  group by cluster, intent
)

select
  i.act,
  i.cause,
  i.team,
  coalesce(e.result, 'open') as result,
  count(*) as workloads,
  sum(i.frees_parts)::hugeint as parts
from deeds as i
left join ended as e on i.cluster = e.cluster and i.row_hash = e.intent
where i.phase = 'intent' and i.told_at >= $start_at and i.told_at < $end_at
group by all
order by all
