-- tokens: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from tokens_versions
qualify
  row_number() over (
    partition by token_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, name desc, hash desc, teams desc, per_minute desc, author desc
  ) = 1
  and (end_at is null or end_at > start_at)
