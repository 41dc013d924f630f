-- quota_lasts: of each quota object the last that was meant for it, with the last that is told of what came of it
with
intents as (
  select *
  from deeds
  where cluster = $cluster and phase = 'intent' and list_contains(['ResourceQuota', 'ClusterQueue'], kind)
  qualify row_number() over (partition by object_uid order by number desc) = 1
),

outcomes as (
  select
    intent,
    arg_max(result, number) as came,
    arg_max(told_at, number) as came_at,
    arg_max(words, number) as came_words
  from deeds
  where cluster = $cluster and phase = 'outcome' and list_contains(['ResourceQuota', 'ClusterQueue'], kind)
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
