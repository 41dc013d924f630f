-- days: the first and the last business day that have usage or lines of cost
with told as (
  select business_day from usage_daily
  union all
  select business_day from charges
)

select
  min(business_day) as first_day,
  max(business_day) as last_day
from told
