-- policy_since: since when plans are made under this policy, without another one between; null: none was
with
last_other as (
  select coalesce(max(planned_at), 'epoch'::timestamptz) as until_at
  from plans
  where cluster = $cluster and policy_hash <> $policy_hash
)

select epoch_ms(min(p.planned_at)) as since_ms
from plans as p
cross join last_other as o
where p.cluster = $cluster and p.policy_hash = $policy_hash and p.planned_at > o.until_at
