-- workloads: what the charged workloads of a span of business days are called, by their last version
with
charged as (
  select distinct
    cluster,
    workload_id
  from charges
  where business_day >= $first_day and business_day < $end_day and workload_id is not null
)

select
  w.cluster,
  w.workload_id,
  w.namespace,
  w.kind,
  w.name,
  case when json_valid(w.tags) then if(json_type(w.tags) = 'OBJECT' and w.tags <> '{}', w.tags, null) end as tags
from workloads as w
inner join charged as c on w.cluster = c.cluster and w.workload_id = c.workload_id
qualify row_number() over (partition by w.cluster, w.workload_id order by w.start_at desc) = 1
