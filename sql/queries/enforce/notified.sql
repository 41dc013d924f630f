-- notified: warnings that a channel accepted, each once
select distinct
  object_uid as uid,
  stage,
  epoch_ms(sent_at) as at_ms
from notifications
where cluster = $cluster and accepted and sent_at > make_timestamptz($since_ms::bigint * 1000)
order by at_ms, uid, stage
