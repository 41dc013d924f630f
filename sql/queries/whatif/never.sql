-- never: what was asked for in the span and never ran, of workloads without any pod that was bound
select
  count(*) as workloads,
  coalesce(sum(gpu_parts), 0)::bigint as parts
from (
  select
    workload_id,
    max(gpu_parts) as gpu_parts
  from demand as d
  where
    cluster = $cluster
    and epoch_ms(start_at) < $until_ms
    and coalesce(epoch_ms(end_at), $forever::bigint) > $from_ms
    and not exists (
      select 1
      from allocations as a
      where a.cluster = $cluster and a.workload_id = d.workload_id
    )
  group by workload_id
) as by_workload
