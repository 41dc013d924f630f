-- rows_of_days: the measured rows of the given business days
create or replace temp view rows_of_days as
with
row_days as (
  select distinct e.row_s, d.business_day
  from eras as e
  inner join given_days as d on e.row_s >= d.from_ms and e.row_s < d.until_ms
)

select d.business_day, u.*
from usage_rows as u
inner join row_days as d on u.row_start_at = d.row_s
