-- export_usage_daily: what workloads did on some business days, as the stable view has it
select u.*
from reporting.usage_by_day as u
where u.day >= $first_day::date and u.day < $end_day::date
order by u.day, u.cluster, u.pool, u.model, u.team, u.workload_id
