-- teams_then: the team of each (namespace, labels, patterns of users) while the rules stand: the first rule that fits
create or replace temp table teams_then as
with
epochs as (
  select distinct c, ruled_since
  from eras
),

rules as (
  select e.c, e.ruled_since, t.*
  from epochs as e
  inner join asked_clusters as k on e.c = k.c
  inner join told_rules as t on t.s <= e.ruled_since and e.ruled_since < t.e
  where t.cluster_glob is null or k.cluster glob t.cluster_glob
),

told as (
  select a.c, a.namespace, a.labels, a.user_patterns
  from told_allocations as a
  inner join asked_spans as x on a.c = x.c and a.s < x.until_ms and x.from_ms < a.e
  union
  select d.c, d.namespace, d.labels, d.user_patterns
  from told_demand as d
  inner join asked_spans as x on d.c = x.c and d.s < x.until_ms and x.from_ms < d.e
),

fitting as (
  select
    t.c,
    r.ruled_since,
    t.namespace,
    t.labels,
    t.user_patterns,
    arg_min(r.team, (r.position, r.rule_id)) as team
  from told as t
  inner join rules as r on t.c = r.c
  where
    (r.namespace_glob is null or t.namespace glob r.namespace_glob)
    and (
      r.label_key is null
      or json_extract_string(t.labels, '/' || replace(replace(r.label_key, '~', '~0'), '/', '~1')) glob r.label_glob
    )
    and (r.user_pattern_id is null or list_contains(t.user_patterns::json::bigint[], r.user_pattern_id))
    and (r.unix_user_pattern_id is null or list_contains(t.user_patterns::json::bigint[], r.unix_user_pattern_id))
    and (r.unix_group_pattern_id is null or list_contains(t.user_patterns::json::bigint[], r.unix_group_pattern_id))
  group by all
)

select
  t.c,
  e.ruled_since,
  t.namespace,
  t.labels,
  t.user_patterns,
  coalesce(f.team, 'unassigned') as team
from told as t
inner join epochs as e on t.c = e.c
left join fitting as f
  on
    t.c = f.c
    and e.ruled_since = f.ruled_since
    and t.namespace = f.namespace
    and t.labels = f.labels
    and t.user_patterns = f.user_patterns
