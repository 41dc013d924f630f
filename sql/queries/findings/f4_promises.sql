-- promises: each team's hours in each pool: what is rolled up, then what was measured just now
create or replace temp table promises as
select
  cluster, pool, team, epoch_ms(row_start_at) as s, epoch_ms(row_end_at) as e,
  guaranteed_pms, held_pms, within_pms, lent_pms, unused_pms, waiting_pms
from quota_hourly
where
  cluster = $cluster
  and row_start_at >= make_timestamptz(($at_ms::bigint - $quota_ms::bigint) * 1000)
  and row_start_at < make_timestamptz($from_ms::bigint * 1000)
union all
select
  cluster, pool, team, row_start_at as s, row_end_at as e,
  guaranteed_pms, held_pms, within_pms, lent_pms, unused_pms, waiting_pms
from quota_rows
