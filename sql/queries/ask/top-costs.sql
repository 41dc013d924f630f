-- the twenty workloads that cost most, with their team
select
  c.team,
  w.namespace,
  w.kind,
  w.name,
  sum(c.amount)::decimal(38, 2) as amount,
  c.currency
from charges as c
left join (
  select
    cluster,
    workload_id,
    arg_max(namespace, start_at) as namespace,
    arg_max(kind, start_at) as kind,
    arg_max(name, start_at) as name
  from workloads
  group by cluster, workload_id
) as w on c.cluster = w.cluster and c.workload_id = w.workload_id
where c.workload_id is not null
group by c.team, c.cluster, c.workload_id, w.namespace, w.kind, w.name, c.currency
order by amount desc, c.team, w.name
limit 20
