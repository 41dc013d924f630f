-- remembered: what recorded plans before the instant would have done to whom
select
  a.object_uid as uid,
  a.act,
  a.stage,
  epoch_ms(a.planned_at) as at_ms
from actions as a
where
  a.cluster = $cluster and a.mode = 'shadow'
  and a.planned_at > make_timestamptz($since_ms::bigint * 1000)
  and a.planned_at < make_timestamptz($at_ms::bigint * 1000)
order by at_ms
