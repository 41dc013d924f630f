-- all_late_days: the business days of closed periods for which usage ever came late. given_days(business_day, start_ms, end_ms) is given
select distinct d.business_day
from usage_late as l
inner join given_days as d on epoch_ms(l.row_start_at) >= d.start_ms and epoch_ms(l.row_start_at) < d.end_ms
order by d.business_day
