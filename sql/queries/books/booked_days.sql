-- booked_days: the first and the last business day with lines of cost
select
  min(business_day) as first_day,
  max(business_day) as last_day
from charges
