-- requests_commands: every freeze and thaw of the cluster that has not run out; one of a clock that is ahead counts too
select
  epoch_ms(asked_at) as asked_at_ms,
  kind = 'thaw' as thaws,
  coalesce(asked_by, '') as who,
  coalesce(words, '') as why
from requests
where
  cluster = $cluster
  and list_contains(['freeze', 'thaw'], kind)
  and (until is null or until > make_timestamptz($at_ms::bigint * 1000))
order by asked_at, request_id
