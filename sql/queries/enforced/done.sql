-- done: what was meant for each object in a span and what came of it, newest first; of a reader with teams, of theirs
with came as (
  select
    intent,
    arg_max(result, number) as result,
    arg_max(words, number) as words
  from deeds
  where cluster = $cluster and phase = 'outcome'
  group by intent
)

select
  epoch_ms(d.told_at) as told_ms,
  d.act,
  coalesce(d.kind, '') as kind,
  coalesce(d.namespace, '') as namespace,
  coalesce(d.name, '') as name,
  coalesce(d.team, '') as team,
  coalesce(d.frees_parts, 0) as parts,
  coalesce(d.cause, '') as cause,
  coalesce(c.result, '') as result,
  coalesce(nullif(c.words, ''), d.words, '') as words
from deeds as d
left join came as c on d.row_hash = c.intent
where
  d.cluster = $cluster
  and d.phase = 'intent'
  and d.told_at >= make_timestamptz($from_ms::bigint * 1000)
  and ($teams is null or list_contains($teams::varchar[], d.team))
order by d.number desc
limit 200
