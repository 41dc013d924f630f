-- waits: what waited for GPUs in a span: by whose team as the rules are now, since when, until when (null: still), and its place
-- among those that wait still for the same pool; of a reader with teams, theirs and the person's own
with
told as (
  select
    cluster,
    demand_id,
    min(start_at) as since_at,
    case when count(*) = count(end_at) then max(end_at) end as until_at,
    arg_max(workload_id, start_at) as workload_id,
    coalesce(arg_max(namespace, start_at), '') as namespace,
    coalesce(arg_max(pool, start_at), '') as pool,
    coalesce(arg_max(gpu_parts, start_at), 0) as parts,
    coalesce(arg_max(pods, start_at), 1) as pods,
    coalesce(arg_max(reason, start_at), '') as reason,
    arg_max(case when json_valid(labels) then labels else '{}' end, start_at) as labels,
    arg_max(case when json_valid(user_patterns) then user_patterns else '[]' end, start_at) as user_patterns
  from demand
  group by cluster, demand_id
),

asked as (
  select
    *,
    case when until_at is null then row_number() over (
      partition by cluster, pool, until_at is null
      order by since_at, demand_id
    ) end as place,
    count(*) filter (where until_at is null) over (partition by cluster, pool) as waiting
  from told
  where until_at is null or until_at > make_timestamptz($from_ms::bigint * 1000)
),

ruled as (
  select
    a.cluster,
    a.demand_id,
    arg_min(r.team, (r.position, r.rule_id)) as team
  from asked as a
  inner join team_rules as r
    on
      (r.cluster_glob is null or a.cluster glob r.cluster_glob)
      and (r.namespace_glob is null or a.namespace glob r.namespace_glob)
      and (
        r.label_key is null
        or json_extract_string(a.labels, '/' || replace(replace(r.label_key, '~', '~0'), '/', '~1'))
        glob coalesce(r.label_glob, '*')
      )
      and (r.user_pattern_id is null or list_contains(a.user_patterns::json::bigint[], r.user_pattern_id))
      and (r.unix_user_pattern_id is null or list_contains(a.user_patterns::json::bigint[], r.unix_user_pattern_id))
      and (r.unix_group_pattern_id is null or list_contains(a.user_patterns::json::bigint[], r.unix_group_pattern_id))
  where
    r.start_at <= make_timestamptz($at_ms::bigint * 1000)
    and (r.end_at is null or r.end_at > make_timestamptz($at_ms::bigint * 1000))
  group by a.cluster, a.demand_id
)

select
  a.cluster,
  a.pool,
  coalesce(r.team, 'unassigned') as team,
  coalesce(o.kind, '') as kind,
  a.namespace,
  coalesce(o.name, '') as name,
  coalesce(o.uid, '') as uid,
  o.person_id,
  a.parts,
  a.pods,
  a.reason,
  epoch_ms(a.since_at) as since_ms,
  epoch_ms(a.until_at) as until_ms,
  a.place,
  a.waiting
from asked as a
left join ruled as r on a.cluster = r.cluster and a.demand_id = r.demand_id
left join owners as o on a.cluster = o.cluster and a.workload_id = o.workload_id
where
  a.since_at < make_timestamptz($at_ms::bigint * 1000)
  and (
    $teams is null
    or list_contains($teams::varchar[], coalesce(r.team, 'unassigned'))
    or o.person_id = $person
  )
order by a.cluster, a.pool, a.since_at, a.demand_id
