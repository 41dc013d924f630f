-- audit_stopped: the last stop or hold of each object, where it took effect or may have, and nothing was started since
with
done as (
  select
    d.* exclude (told_at, recorded_at),
    epoch_us(d.told_at) as told_at,
    coalesce(arg_max(o.result, o.number), '') as came,
    max(epoch_ms(o.told_at)) as came_ms,
    coalesce(arg_max(o.words, o.number), '') as came_words
  from deeds as d
  left join deeds as o on d.cluster = o.cluster and d.row_hash = o.intent and o.phase = 'outcome'
  where d.cluster = $cluster and d.phase = 'intent' and list_contains(['stop', 'hold', 'start', 'restore'], d.act)
  group by all
  having came in ('', 'done', 'undone') and (came = 'done' or not list_contains(['start', 'restore'], d.act))
)

select *
from done
qualify
  list_contains(['stop', 'hold'], act)
  and came <> 'undone'
  and row_number() over (partition by object_uid order by number desc) = 1
  and epoch_us(make_timestamptz($from_ms::bigint * 1000)) <= told_at
order by number
