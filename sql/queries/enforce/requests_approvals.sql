-- requests_approvals: the approvals of the cluster that hold at an instant, or ran out in the hour before it, each with
-- the snapshot its plan was made of
with
known as (
  select
    plan_hash,
    arg_max(snapshot_hash, planned_at) as snapshot_hash
  from plans
  where cluster = $cluster
  group by plan_hash
)

select
  r.subject as plan_hash,
  k.snapshot_hash,
  epoch_ms(r.asked_at) as at_ms,
  epoch_ms(r.until) as until_ms,
  coalesce(r.asked_by, '') as who,
  r.request_id
from requests as r
inner join known as k on r.subject = k.plan_hash
where
  r.cluster = $cluster and r.kind = 'approve'
  and r.asked_at <= make_timestamptz($at_ms::bigint * 1000)
  and r.until > make_timestamptz($at_ms::bigint * 1000) - interval 1 hour
order by r.asked_at, r.request_id
