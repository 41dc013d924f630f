-- mine: what holds GPUs now under a name or a UID in a cluster, whose team and whose person it is; of what started in this
-- hour no team is known yet
with
running as (
  select
    workload_id,
    kind,
    coalesce(namespace, '') as namespace,
    coalesce(name, '') as name,
    uid,
    person_id
  from workloads
  where
    cluster = $cluster and end_at is null and uid <> ''
    and (uid = $subject or kind || '/' || coalesce(namespace, '') || '/' || coalesce(name, '') = $subject)
  qualify row_number() over (partition by workload_id order by start_at desc) = 1
),

held as (
  select distinct workload_id
  from allocations
  where cluster = $cluster and end_at is null
),

belongs as (
  select
    workload_id,
    arg_max(team, row_start_at) as team
  from usage_hourly
  where cluster = $cluster and row_start_at > make_timestamptz($at_ms::bigint * 1000) - interval 2 day
  group by workload_id
)

select
  r.uid,
  r.kind || '/' || r.namespace || '/' || r.name as title,
  r.person_id,
  b.team
from running as r
inner join held as h on r.workload_id = h.workload_id
left join belongs as b on r.workload_id = b.workload_id
order by title, r.uid
