-- quota_lasts: of each quota object the last that was meant for it, with the last that is told of what came of it
select
  d.* exclude (told_at, recorded_at),
  epoch_us(d.told_at) as told_at,
  coalesce(arg_max(o.result, o.number), '') as came,
  max(epoch_ms(o.told_at)) as came_ms,
  coalesce(arg_max(o.words, o.number), '') as came_words
from deeds as d
left join deeds as o on d.cluster = o.cluster and d.row_hash = o.intent and o.phase = 'outcome'
where d.cluster = $cluster and d.phase = 'intent' and list_contains(['ResourceQuota', 'ClusterQueue'], d.kind)
group by all
qualify row_number() over (partition by d.object_uid order by d.number desc) = 1
order by d.number
