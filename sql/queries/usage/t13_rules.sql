-- told_rules: the ordered rules that map to teams, while they are in force
create or replace temp table told_rules as
select
  rule_id,
  epoch_ms(start_at) as s,
  least(
    coalesce(epoch_ms(end_at), $forever),
    lead(epoch_ms(start_at), 1, $forever) over (partition by rule_id order by start_at)
  ) as e,
  position,
  team,
  cluster_glob,
  namespace_glob,
  label_key,
  coalesce(label_glob, '*') as label_glob,
  user_pattern_id,
  unix_user_pattern_id,
  unix_group_pattern_id
from team_rules
