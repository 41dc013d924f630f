-- noted: what was noticed of workloads of $teams (null: of all) while [$start_at, $end_at) lasted, still so first, the costliest
-- first; lasts: it has not ended. Cost is so far, at the prices of when it was noticed
with read as (
  select
    f.cluster,
    f.kind,
    f.subject,
    f.team,
    f.start_at,
    f.end_at,
    f.recorded_at,
    f.coverage_permille,
    f.cost,
    f.currency,
    case when json_valid(f.evidence) then f.evidence end as evidence
  from findings as f
  where
    f.kind in ('idle workload', 'forgotten workspace', 'partly idle workload', 'stalled workload', 'never started')
    and f.start_at < $end_at
    and (f.end_at is null or f.end_at > $start_at)
    and ($teams is null or list_contains($teams, f.team))
)

select
  r.cluster,
  r.kind,
  r.subject,
  r.team,
  o.person_id,
  epoch_ms(r.start_at) as since_ms,
  epoch_ms(r.end_at) as until_ms,
  epoch_ms(r.recorded_at) as noted_ms,
  r.end_at is null as lasts,
  r.coverage_permille,
  r.cost,
  r.currency,
  r.evidence ->> '$.gpus' as gpus,
  r.evidence ->> '$.idle_gpu_hours' as idle_gpu_hours,
  coalesce((r.evidence ->> '$.idle_devices')::integer, 0) as idle_devices,
  coalesce(json_array_length(r.evidence, '$.devices'), 0) as devices,
  coalesce(json_array_length(r.evidence, '$.doubts'), 0) as doubts,
  coalesce((r.evidence ->> '$.reported_only')::boolean, false) as reported_only
from read as r
left join owners as o on r.cluster = o.cluster and (r.evidence ->> '$.workload_id')::bigint = o.workload_id
order by lasts desc, r.cost desc nulls last, since_ms, r.cluster, r.subject, r.kind
