-- frozen: the last command to freeze or thaw a cluster that has not run out
select
  kind = 'freeze' as frozen,
  epoch_ms(asked_at) as at_ms,
  coalesce(words, '') as words
from requests
where
  cluster = $cluster
  and list_contains(['freeze', 'thaw'], kind)
  and (until is null or until > make_timestamptz($now_ms::bigint * 1000))
order by asked_at desc, kind
limit 1
