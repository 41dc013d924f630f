-- teams: of each (namespace, labels, patterns of users) the rules that fit it, in order, while they stood
with
rules as (
  select
    *,
    least(
      coalesce(epoch_ms(end_at), $forever::bigint),
      lead(epoch_ms(start_at), 1, $forever::bigint) over (partition by rule_id order by start_at)
    ) as end_ms
  from team_rules
  where cluster_glob is null or $cluster glob cluster_glob
),

told as (
  select
    coalesce(namespace, '') as namespace,
    case when json_valid(labels) then labels else '{}' end as labels,
    case when json_valid(user_patterns) then user_patterns else '[]' end as user_patterns
  from allocations
  where
    cluster = $cluster
    and epoch_ms(start_at) <= $until_ms and coalesce(epoch_ms(end_at), $forever) > $from_ms
  union
  select
    coalesce(namespace, '') as namespace,
    case when json_valid(labels) then labels else '{}' end as labels,
    case when json_valid(user_patterns) then user_patterns else '[]' end as user_patterns
  from demand
  where
    cluster = $cluster
    and epoch_ms(start_at) <= $until_ms and coalesce(epoch_ms(end_at), $forever) > $from_ms
)

select
  t.namespace,
  t.labels,
  t.user_patterns,
  r.team,
  epoch_ms(r.start_at) as start_ms,
  r.end_ms
from told as t
inner join rules as r
  on
    (r.namespace_glob is null or t.namespace glob r.namespace_glob)
    and (
      r.label_key is null
      or json_extract_string(t.labels, '/' || replace(replace(r.label_key, '~', '~0'), '/', '~1')) glob r.label_glob
    )
    and (r.user_pattern_id is null or list_contains(t.user_patterns::json::bigint[], r.user_pattern_id))
    and (r.unix_user_pattern_id is null or list_contains(t.user_patterns::json::bigint[], r.unix_user_pattern_id))
    and (r.unix_group_pattern_id is null or list_contains(t.user_patterns::json::bigint[], r.unix_group_pattern_id))
order by t.namespace, t.labels, t.user_patterns, r.position, r.rule_id
