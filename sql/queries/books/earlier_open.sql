-- earlier_open: the last day before the period with lines of cost that no closed period has; null: there is none
with
closed as (
  select
    start_day,
    end_day
  from periods
  where state = 'closed'
)

select max(c.business_day) as business_day
from charges as c
anti join closed as p on c.business_day >= p.start_day and c.business_day < p.end_day
where c.business_day < $start_day
