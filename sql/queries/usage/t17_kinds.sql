-- kinds: the kind of each workload, as last told
create or replace temp table kinds as
select
  c.c,
  w.workload_id,
  arg_max(coalesce(w.kind, ''), w.start_at) as kind
from workloads as w
inner join asked_clusters as c on w.cluster = c.cluster
group by c.c, w.workload_id
