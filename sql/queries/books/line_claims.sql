-- line_claims: the claims on GPUs that the line's usage came from, the rule that made each the team's, and its samples that live
with
used as (
  select
    allocation_id,
    device_id,
    row_start_at,
    row_end_at,
    held_pms,
    computing_pms,
    idle_pms,
    unknown_pms,
    faulted_pms
  from usage_hourly
  where
    cluster = $cluster
    and row_start_at >= $from_at
    and row_start_at < $until_at
    and pool is not distinct from $pool
    and model is not distinct from $model
    and team is not distinct from $team
    and workload_id is not distinct from $workload_id
    and held_pms > 0
),

claims as (
  select
    allocation_id,
    min(row_start_at) as start_at,
    max(row_end_at) as end_at,
    count(distinct device_id) as devices,
    sum(held_pms)::decimal(38, 0) as held_pms,
    sum(computing_pms)::decimal(38, 0) as computing_pms,
    sum(idle_pms)::decimal(38, 0) as idle_pms,
    sum(unknown_pms)::decimal(38, 0) as unknown_pms,
    sum(faulted_pms)::decimal(38, 0) as faulted_pms
  from used
  group by allocation_id
),

told as (
  select *
  from allocations
  where cluster = $cluster and allocation_id in (select allocation_id from claims)
),

fitting as (
  select
    a.allocation_id,
    arg_min(r.rule_id, (r.position, r.rule_id)) as rule_id
  from told as a
  inner join claims as c on a.allocation_id = c.allocation_id
  inner join team_rules as r
    on
      r.start_at <= c.start_at
      and (r.end_at is null or r.end_at > c.start_at)
      and (r.cluster_glob is null or a.cluster glob r.cluster_glob)
      and (r.namespace_glob is null or a.namespace glob r.namespace_glob)
  where
    (
      r.label_key is null
      or json_extract_string(a.labels, '/' || replace(replace(r.label_key, '~', '~0'), '/', '~1')) glob coalesce(r.label_glob, '*')
    )
    and (r.user_pattern_id is null or list_contains(a.user_patterns::json::bigint[], r.user_pattern_id))
    and (r.unix_user_pattern_id is null or list_contains(a.user_patterns::json::bigint[], r.unix_user_pattern_id))
    and (r.unix_group_pattern_id is null or list_contains(a.user_patterns::json::bigint[], r.unix_group_pattern_id))
  group by a.allocation_id
),

named_rules as (
  select *
  from team_rules
  qualify row_number() over (partition by rule_id order by start_at desc) = 1
),

heard as (
  select
    u.allocation_id,
    count(*) as samples
  from used as u
  inner join devices as d on d.cluster = $cluster and u.device_id = d.device_id
  inner join series as s
    on d.cluster = s.cluster and d.gpu_uuid = s.gpu_uuid and coalesce(d.gi_id, '') = coalesce(s.gi_id, '')
  inner join samples as x
    on
      s.cluster = x.cluster
      and s.series_id = x.series_id
      and x.sampled_at >= u.row_start_at
      and x.sampled_at < u.row_end_at
  where
    d.start_at <= u.row_start_at
    and (d.end_at is null or d.end_at > u.row_start_at)
    and s.start_at <= x.sampled_at
    and (s.end_at is null or s.end_at > x.sampled_at)
  group by u.allocation_id
)

select
  c.allocation_id,
  t.namespace,
  t.pod,
  t.node,
  epoch_ms(c.start_at) as start_ms,
  epoch_ms(c.end_at) as end_ms,
  c.devices,
  c.held_pms,
  c.computing_pms,
  c.idle_pms,
  c.unknown_pms,
  c.faulted_pms,
  r.position as rule,
  r.team as rule_team,
  r.namespace_glob,
  r.label_key,
  r.label_glob,
  coalesce(h.samples, 0) as samples
from claims as c
left join told as t on c.allocation_id = t.allocation_id
left join fitting as f on c.allocation_id = f.allocation_id
left join named_rules as r on f.rule_id = r.rule_id
left join heard as h on c.allocation_id = h.allocation_id
order by c.held_pms desc, c.allocation_id
