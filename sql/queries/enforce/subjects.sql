-- subjects: what runs under a name or a UID, in these clusters, and since when it is found idle (null: it is not)
with
running as (
  select
    cluster,
    workload_id,
    kind,
    coalesce(namespace, '') as namespace,
    coalesce(name, '') as name,
    uid
  from workloads
  where
    list_contains($clusters, cluster) and end_at is null and uid <> ''
    and (
      uid = $subject
      or kind || '/' || coalesce(namespace, '') || '/' || coalesce(name, '') = $subject
      or coalesce(namespace, '') || '/' || coalesce(name, '') = $subject
    )
  qualify row_number() over (partition by cluster, workload_id order by start_at desc) = 1
),

held as (
  select distinct
    cluster,
    workload_id
  from allocations
  where list_contains($clusters, cluster) and end_at is null
),

idle as (
  select
    cluster,
    json_extract_string(evidence, '$.uid') as uid,
    max(epoch_ms(start_at)) as since_ms
  from findings
  where list_contains($clusters, cluster) and end_at is null and kind in ('idle workload', 'forgotten workspace')
  group by all
)

select
  r.cluster,
  r.kind,
  r.namespace,
  r.name,
  r.uid,
  i.since_ms
from running as r
inner join held as h on r.cluster = h.cluster and r.workload_id = h.workload_id
left join idle as i on r.cluster = i.cluster and r.uid = i.uid
order by r.cluster, r.kind, r.namespace, r.name, r.uid
