-- span_usage: the usage of the days from $first_day to $last_day
select *
from usage_daily
where business_day between $first_day and $last_day
