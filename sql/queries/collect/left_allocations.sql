-- left_allocations: allocations of an earlier life whose pod is gone: ended while nobody watched, at the latest when the
-- pod was missed, or when its Job had ended or the kubelet had said that it kills it; sure until it was seen last
with
hints as (
  select unnest($end_uids::varchar[]) as uid, unnest($ends_ms::bigint[]) as end_ms
),

gone as (
  select
    a.*,
    greatest(epoch_ms(a.start_at), least(coalesce($seen_ms, epoch_ms(a.start_at)), $at_ms)) as sure_ms
  from lake.allocations as a
  where
    a.cluster = $cluster
    and a.source = $source
    and a.end_at is null
    and not list_contains($present::bigint[], a.allocation_id)
),

bounded as (
  select
    g.allocation_id,
    min(h.end_ms) as end_ms
  from gone as g
  inner join hints as h
    on h.uid in (g.pod_uid, json_extract_string(g.labels, '$."batch.kubernetes.io/controller-uid"'))
  where h.end_ms between g.sure_ms and $at_ms
  group by g.allocation_id
)

select
  g.* exclude (recorded_at, sure_ms) replace (
    epoch_ms(g.start_at) as start_at,
    epoch_ms(g.started_at) as started_at,
    greatest(epoch_ms(g.start_at), coalesce(b.end_ms, $at_ms)) as end_at,
    epoch_ms(g.sure_start_at) as sure_start_at,
    g.sure_ms as sure_end_at,
    case when b.end_ms is null then 'missed' else 'missed, bounded' end as end_evidence,
    g.revision + 1 as revision
  )
from gone as g
left join bounded as b on g.allocation_id = b.allocation_id
