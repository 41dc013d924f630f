-- usage_daily: what the lines were made of, by team, workload and day
select *
from usage_daily
where business_day >= $start_day and business_day < $end_day
order by cluster, business_day, pool, model, team, workload_id
