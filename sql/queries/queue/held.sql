-- held: what holds GPUs now: whose it is, since when, found idle since when, kept until when; of a reader with teams, theirs and
-- the person's own
with
running as (
  select
    a.cluster,
    a.workload_id,
    min(a.start_at) as since_at,
    sum(p.parts) as parts
  from allocations as a
  inner join held_parts as p on a.cluster = p.cluster and a.allocation_id = p.allocation_id
  where a.end_at is null and a.workload_id is not null
  group by a.cluster, a.workload_id
),

belongs as (
  select
    cluster,
    workload_id,
    arg_max(team, row_start_at) as team
  from usage_hourly
  where
    workload_id is not null
    and row_start_at > make_timestamptz($at_ms::bigint * 1000) - interval 2 day
  group by cluster, workload_id
),

idle as (
  select
    cluster,
    json_extract_string(evidence, '$.uid') as uid,
    min(start_at) as since_at
  from findings
  where end_at is null and kind in ('idle workload', 'forgotten workspace')
  group by all
),

kept as (
  select
    cluster,
    subject,
    max(until) as until_at
  from requests
  where kind = 'keep' and until > make_timestamptz($at_ms::bigint * 1000)
  group by cluster, subject
),

given as (
  select distinct
    r.cluster,
    r.subject
  from requests as r
  anti join deeds as d on r.cluster = d.cluster and r.request_id = d.request_id and d.phase = 'answered'
  where r.kind = 'give back'
)

select
  r.cluster,
  o.kind,
  coalesce(o.namespace, '') as namespace,
  coalesce(o.name, '') as name,
  coalesce(o.uid, '') as uid,
  o.person_id,
  b.team,
  r.parts::bigint as parts,
  epoch_ms(r.since_at) as since_ms,
  epoch_ms(i.since_at) as idle_since_ms,
  epoch_ms(k.until_at) as kept_until_ms,
  g.subject is not null as given_back
from running as r
inner join owners as o on r.cluster = o.cluster and r.workload_id = o.workload_id
left join belongs as b on r.cluster = b.cluster and r.workload_id = b.workload_id
left join idle as i on r.cluster = i.cluster and o.uid = i.uid
left join kept as k on r.cluster = k.cluster and o.uid = k.subject
left join given as g on r.cluster = g.cluster and o.uid = g.subject
where $teams is null or list_contains($teams::varchar[], b.team) or o.person_id = $person
order by i.since_at nulls last, r.since_at, r.cluster, o.kind, namespace, name, uid
