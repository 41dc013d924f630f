-- quota_lasts: of each quota object the last that was meant for it, with the last that is told of what came of it
with
kinds as (
  select unnest(
    ['ResourceQuota', 'ClusterQueue', 'Queue.scheduling.run.ai', 'Queue.scheduling.volcano.sh']
  ) as kind
),

intents as (
  select *
  from deeds
  where cluster = $cluster and phase = 'intent' and kind in (select kind from kinds)
  qualify row_number() over (partition by object_uid order by number desc) = 1
),

outcomes as (
  select
    intent,
    arg_max(result, number) as came,
    arg_max(told_at, number) as came_at,
    arg_max(words, number) as came_words
  from deeds
  where cluster = $cluster and phase = 'outcome' and kind in (select kind from kinds)
  group by intent
)

select
  i.* exclude (told_at, recorded_at),
  epoch_us(i.told_at) as told_at,
  coalesce(o.came, '') as came,
  epoch_ms(o.came_at) as came_ms,
  coalesce(o.came_words, '') as came_words
from intents as i
left join outcomes as o on i.row_hash = o.intent
order by i.number
