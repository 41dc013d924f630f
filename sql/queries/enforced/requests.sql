-- requests: what people asked of a cluster and what became of it, newest first; of a reader with teams, what they asked themselves
select
  epoch_ms(r.asked_at) as asked_ms,
  coalesce(r.asked_by, '') as asked_by,
  r.kind,
  coalesce(r.subject, '') as subject,
  epoch_ms(r.until) as until_ms,
  coalesce(r.words, '') as words,
  coalesce(d.result, '') as result,
  coalesce(d.words, '') as answer
from requests as r
left join deeds as d on r.cluster = d.cluster and r.request_id = d.request_id and d.phase = 'answered'
where r.cluster = $cluster and ($teams is null or r.asked_by = $asker)
order by r.asked_at desc, r.request_id
limit 50
