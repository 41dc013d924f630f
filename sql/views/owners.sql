-- owners: each workload as it was told last
select *
from workloads
qualify row_number() over (partition by cluster, workload_id order by start_at desc) = 1
