-- known_allocations: what labels told of some nodes and is open, or ended not long before an instant; the job, where it is one
select
  allocations.* exclude (recorded_at) replace (
    epoch_ms(allocations.start_at) as start_at,
    epoch_ms(allocations.started_at) as started_at,
    epoch_ms(allocations.end_at) as end_at,
    epoch_ms(allocations.sure_start_at) as sure_start_at,
    epoch_ms(allocations.sure_end_at) as sure_end_at
  ),
  coalesce(workloads.api_group = 'slurm', false) as is_job
from allocations
left join workloads on allocations.cluster = workloads.cluster and allocations.workload_id = workloads.workload_id
where
  allocations.cluster = $cluster
  and allocations.source = 'labels'
  and list_contains($nodes::varchar[], allocations.node)
  and (allocations.end_at is null or allocations.end_at >= make_timestamptz($since_ms::bigint * 1000))
qualify row_number() over (partition by allocations.allocation_id order by workloads.start_at) = 1
