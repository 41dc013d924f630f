-- span: the first and the last business day with usage
select
  min(business_day) as first_day,
  max(business_day) as last_day
from usage_daily
