-- Every token that was made, as it is now; one that was revoked in the moment it was made is not there.
select
  token_id,
  name,
  hash,
  teams,
  per_minute,
  author,
  epoch_ms(start_at) as start_ms,
  epoch_ms(end_at) as end_ms,
  revision
from tokens
order by name, start_at
