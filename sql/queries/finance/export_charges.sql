-- export_charges: the lines of cost of some business days, as the stable view has them
select c.*
from reporting.costs as c
where c.day >= $first_day::date and c.day < $end_day::date
order by c.day, c.cluster, c.pool, c.model, c.team, c.kind, c.detail, c.workload_id, c.charge_id
