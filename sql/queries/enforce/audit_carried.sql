-- audit_carried: intents, refusals and answers of a span, each with the last that is told of what came of it
with
outcomes as (
  select
    cluster,
    intent,
    arg_max(result, number) as came,
    arg_max(told_at, number) as came_at,
    arg_max(words, number) as came_words
  from deeds
  where
    phase = 'outcome' and ($cluster is null or cluster = $cluster)
    and told_at >= make_timestamptz($from_ms::bigint * 1000) - interval 1 day -- of a clock that was set back
  group by cluster, intent
)

select
  d.* exclude (told_at, recorded_at),
  epoch_us(d.told_at) as told_at,
  coalesce(o.came, '') as came,
  epoch_ms(o.came_at) as came_ms,
  coalesce(o.came_words, '') as came_words
from deeds as d
left join outcomes as o on d.cluster = o.cluster and d.row_hash = o.intent
where
  ($cluster is null or d.cluster = $cluster)
  and list_contains($phases, d.phase)
  and d.told_at between make_timestamptz($from_ms::bigint * 1000) and make_timestamptz($until_ms::bigint * 1000)
  and (not $open or o.intent is null)
order by d.told_at, d.cluster, d.number
