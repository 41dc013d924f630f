-- charges: what the person's workloads cost, by business day
select
  c.business_day,
  c.team,
  c.kind,
  sum(c.amount) as amount,
  c.currency
from charges as c
inner join (
  select distinct
    cluster,
    workload_id
  from workloads
  where person_id = $person_id
) as w on c.cluster = w.cluster and c.workload_id = w.workload_id
group by c.business_day, c.team, c.kind, c.currency
order by c.business_day, c.team, c.kind
