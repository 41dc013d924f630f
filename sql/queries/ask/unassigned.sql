-- what no team rule matches, by namespace: the rules to write next
-- param: from date, optional, the first day
-- param: to date, optional, the last day
select
  w.cluster,
  w.namespace,
  count(*) as workloads,
  round(sum(w.held_gpu_h), 2) as held_gpu_h
from reporting.workloads as w
where
  w.team = 'unassigned'
  and ($from is null or w.last_day >= $from)
  and ($to is null or w.first_day <= $to)
group by w.cluster, w.namespace
order by held_gpu_h desc, w.cluster, w.namespace
