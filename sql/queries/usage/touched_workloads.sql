-- touched spans of workloads: a workload's kind chooses its floors, so a kind that is told anew touches its allocations
insert into touched
with
old_kinds as (
  select workload_id, arg_max(coalesce(kind, ''), start_at) as kind
  from old_current
  group by workload_id
),

new_kinds as (
  select workload_id, arg_max(coalesce(kind, ''), start_at) as kind
  from new_current
  group by workload_id
),

changed as (
  select coalesce(n.workload_id, o.workload_id) as workload_id
  from new_kinds as n
  full outer join old_kinds as o on n.workload_id = o.workload_id
  where coalesce(n.kind, '') <> coalesce(o.kind, '')
)

select
  epoch_ms(a.start_at) as from_ms,
  coalesce(epoch_ms(a.end_at), $forever) as until_ms
from allocations as a
semi join changed as c on a.workload_id = c.workload_id
where a.cluster = $cluster
