-- bookings: the bookings and offers that stand or come, each with who asked for it and why
with
asked as (
  select
    cluster,
    subject,
    arg_max(asked_by, asked_at) as asked_by,
    arg_max(words, asked_at) as words
  from requests
  where kind in ('book', 'offer')
  group by cluster, subject
)

select
  q.cluster,
  q.quota_id,
  epoch_ms(q.start_at) as start_ms,
  coalesce(epoch_ms(q.end_at), $forever::bigint) as end_ms,
  q.team,
  q.pool,
  q.guaranteed_parts,
  q.kind,
  q.revision,
  coalesce(a.asked_by, '') as asked_by,
  coalesce(a.words, '') as words
from quotas as q
left join asked as a on q.cluster = a.cluster and lpad(format('{:x}', q.quota_id), 16, '0') = a.subject
where
  list_contains($clusters, q.cluster) and q.kind <> 'promise' and q.source <> 'rebalance'
  and coalesce(epoch_ms(q.end_at), $forever::bigint) > $at_ms
order by q.cluster, q.start_at, q.pool, q.team, q.quota_id
