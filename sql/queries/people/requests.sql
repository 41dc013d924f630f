-- requests: what the person asked the enforcer to do
select
  cluster,
  asked_at,
  kind,
  subject,
  until,
  words
from requests
where asked_by = $pseudonym
order by asked_at, cluster, request_id
