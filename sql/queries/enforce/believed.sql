-- believed: who is believed about holders, by rank
select
  source,
  rank,
  epoch_ms(start_at) as start_ms,
  coalesce(epoch_ms(end_at), $forever::bigint) as end_ms
from authority
where
  cluster = $cluster and kind = 'holders'
  and epoch_ms(start_at) <= $until_ms and coalesce(epoch_ms(end_at), $forever) > $from_ms
order by rank, source
