-- requests_open: what people asked for and no deed answers yet, the oldest first
select
  r.cluster,
  r.request_id,
  epoch_ms(r.asked_at) as asked_at_ms,
  coalesce(r.asked_by, '') as asked_by,
  r.kind,
  coalesce(r.subject, '') as subject,
  epoch_ms(r.until) as until_ms,
  coalesce(r.words, '') as words
from requests as r
anti join deeds as d on r.cluster = d.cluster and r.request_id = d.request_id and d.phase = 'answered'
where r.cluster = $cluster and list_contains($kinds, r.kind)
order by r.asked_at, r.request_id
