-- rewritten_days: the business days of which the roll-up wrote usage in the snapshots $after to $now, and those with charges
-- of a cluster that has no usage any more. It writes all of a cluster's usage_daily of a day anew when an hour of it changes
select business_day
from ducklake_table_insertions('lake', 'main', 'usage_daily', $after::bigint, $now::bigint)
union
select business_day
from (
  select
    cluster,
    business_day
  from charges
  where kind <> 'correction'
  except
  select
    cluster,
    business_day
  from usage_daily
) as left_over
