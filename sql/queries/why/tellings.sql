-- tellings: every version that was told of a pod's claims that touch [from_ms, until_ms), and which of them is in force
select distinct
  v.allocation_id,
  coalesce(v.revision, 0) as revision,
  epoch_ms(v.recorded_at) as recorded_ms,
  coalesce(v.source, '') as source,
  coalesce(v.node, '') as node,
  coalesce(v.pod_uid, '') as pod_uid,
  coalesce(v.gpu_parts, 0) as gpu_parts,
  epoch_ms(v.start_at) as bound_ms,
  epoch_ms(v.started_at) as started_ms,
  epoch_ms(v.end_at) as ended_ms,
  coalesce(v.end_evidence, '') as evidence,
  epoch_ms(coalesce(v.sure_start_at, v.start_at)) as sure_from_ms,
  epoch_ms(coalesce(v.sure_end_at, v.end_at)) as sure_until_ms,
  coalesce(v.end_at = v.start_at, false) as withdraws,
  a.allocation_id is not null as in_force
from allocations_versions as v
left join allocations as a on v.cluster = a.cluster and v.allocation_id = a.allocation_id and v is not distinct from a
where
  v.cluster = $cluster
  and coalesce(v.namespace, '') || '/' || v.pod = $id
  and epoch_ms(v.start_at) < $until_ms
  and coalesce(epoch_ms(v.end_at), $until_ms) >= $from_ms
order by v.allocation_id, revision, recorded_ms, in_force
