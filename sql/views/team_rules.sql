-- team_rules: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from team_rules_versions
qualify
  row_number() over (
    partition by rule_id, start_at
    order by
      revision desc, recorded_at desc,
      hash(end_at, position, team, cluster_glob, namespace_glob, label_key, label_glob, user_pattern_id, unix_user_pattern_id) desc
  ) = 1
  and (end_at is null or end_at > start_at)
