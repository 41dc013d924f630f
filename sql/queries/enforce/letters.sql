-- letters: what every channel carried since, of all clusters
select
  cluster,
  object_uid as uid,
  stage,
  channel,
  addressee,
  epoch_ms(sent_at) as at_ms,
  accepted
from notifications
where sent_at > make_timestamptz($since_ms::bigint * 1000)
order by at_ms, cluster, uid, stage, channel, addressee
