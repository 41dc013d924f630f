-- outcomes whose intent is not written before them, and answers to a request that the ledger does not know
select
  d.cluster,
  d.number,
  d.phase,
  d.intent,
  d.request_id
from deeds as d
left join deeds as i on d.cluster = i.cluster and d.intent = i.row_hash and d.number > i.number and i.phase = 'intent'
left join requests as r on d.cluster = r.cluster and d.request_id = r.request_id
where
  (d.phase = 'outcome' and i.row_hash is null)
  or (d.phase = 'answered' and r.request_id is null)
