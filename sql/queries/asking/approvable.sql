-- approvable: the plans whose hash begins so, each as it was recorded last, and whether a later one that is no shadow took
-- its place
with
told as (
  select
    cluster,
    plan_hash,
    max(planned_at) as planned_at,
    arg_max(mode, planned_at) as mode,
    arg_max(actions, planned_at) as actions,
    arg_max(body, planned_at) as body
  from plans
  where $cluster is null or cluster = $cluster
  group by cluster, plan_hash
),

last_of as (
  select
    cluster,
    max(planned_at) as planned_at
  from told
  where mode <> 'shadow'
  group by cluster
)

select
  t.cluster,
  t.plan_hash,
  epoch_ms(t.planned_at) as planned_ms,
  t.mode,
  t.actions,
  t.body,
  coalesce(t.planned_at < l.planned_at, false) as replaced
from told as t
left join last_of as l on t.cluster = l.cluster
where starts_with(t.plan_hash, $prefix)
order by t.planned_at desc, t.cluster, t.plan_hash
