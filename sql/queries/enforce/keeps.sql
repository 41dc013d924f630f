-- keeps: until when people asked for workloads to be kept, the longest last; what is over is left out
select
  subject as uid,
  epoch_ms(until) as until_ms
from requests
where cluster = $cluster and kind = 'keep' and until > make_timestamptz($at_ms::bigint * 1000)
order by until_ms
