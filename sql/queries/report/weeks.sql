-- weeks: the ISO weeks of the business days that have usage, newest first
select distinct strftime(business_day::date, '%G-W%V') as week
from usage_daily
order by week desc
