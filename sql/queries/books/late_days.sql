-- late_days: the business days of closed periods for which usage came late in the snapshots $after to $now.
-- given_days(business_day, start_ms, end_ms) is given
select distinct d.business_day
from ducklake_table_insertions('lake', 'main', 'usage_late', $after::bigint, $now::bigint) as l
inner join given_days as d on epoch_ms(l.row_start_at) >= d.start_ms and epoch_ms(l.row_start_at) < d.end_ms
order by d.business_day
