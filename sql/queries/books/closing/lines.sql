-- lines: every line of cost that is booked on the period's days
select * exclude (recorded_at)
from charges
where business_day >= $start_day and business_day < $end_day
order by cluster, business_day, charge_id
