-- waiting: what waited in the span, while it was so
with told as (
  select
    *,
    least(
      coalesce(epoch_ms(end_at), $forever::bigint),
      lead(epoch_ms(start_at), 1, $forever::bigint) over (partition by demand_id order by start_at)
    ) as end_ms,
    min(epoch_ms(start_at)) over (partition by demand_id) as since_ms
  from demand
  where cluster = $cluster
)

select
  epoch_ms(d.start_at) as start_ms,
  d.end_ms,
  d.since_ms,
  d.demand_id,
  coalesce(d.namespace, '') as namespace,
  coalesce(d.pool, '') as pool,
  coalesce(d.gpu_parts, 0) as parts,
  coalesce(d.pods, 1) as pods,
  coalesce(d.gang_minimum, 1) as gang_minimum,
  case when json_valid(d.labels) then d.labels else '{}' end as labels,
  case when json_valid(d.user_patterns) then d.user_patterns else '[]' end as user_patterns,
  coalesce(o.uid, '') as uid,
  coalesce(o.kind, '') as kind,
  coalesce(o.name, '') as name
from told as d
left join owners as o on d.cluster = o.cluster and d.workload_id = o.workload_id
where epoch_ms(d.start_at) <= $until_ms and d.end_ms > $from_ms
