-- team_rules: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from team_rules_versions
qualify
  row_number() over (
    partition by rule_id, start_at
    order by
      revision desc, recorded_at desc,
      end_at desc, position desc, team desc, cluster_glob desc, namespace_glob desc, label_key desc, label_glob desc,
      user_pattern_id desc, unix_user_pattern_id desc, unix_group_pattern_id desc
  ) = 1
  and (end_at is null or end_at > start_at)
