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
where epoch_ms(sent_at) > $since_ms
order by at_ms, cluster, uid, stage, channel, addressee
