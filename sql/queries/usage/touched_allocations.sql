-- touched spans of allocations: where old and new versions of allocations differ: all over when they are not the same claim,
-- else only between the old and the new instant of their start, of their end or of their sure span
insert into touched
with
sides as (
  select *, 'old' as side
  from old_current
  union all by name
  select *, 'new' as side
  from new_current
),

told as (
  select
    side,
    cluster,
    allocation_id,
    epoch_ms(start_at) as s,
    coalesce(epoch_ms(end_at), $forever) as e,
    coalesce(epoch_ms(started_at), $forever) as started,
    coalesce(epoch_ms(sure_start_at), epoch_ms(start_at)) as sure_s,
    coalesce(epoch_ms(sure_end_at), $forever) as sure_e,
    source = 'labels' as by_label,
    hash(source, workload_id, node, namespace, preemptible, gpu_parts, labels, user_patterns) as payload
  from sides
),

pairs as (
  select
    coalesce(n.cluster, o.cluster) as cluster,
    coalesce(n.payload = o.payload and n.s = o.s, false) as same,
    coalesce(n.by_label, false) or coalesce(o.by_label, false) as by_label,
    o.s as old_s,
    n.s as new_s,
    o.e as old_e,
    n.e as new_e,
    unnest([
      struct_pack(a := n.e, b := o.e),
      struct_pack(a := n.started, b := o.started),
      struct_pack(a := n.sure_s, b := o.sure_s),
      struct_pack(a := n.sure_e, b := o.sure_e)
    ]) as moved
  from (
    select *
    from told
    where side = 'new'
  ) as n
  full outer join (
    select *
    from told
    where side = 'old'
  ) as o
    on n.cluster = o.cluster and n.allocation_id = o.allocation_id
)

select distinct
  case when same then least(moved.a, moved.b) else least(old_s, new_s) end as from_ms,
  case
    when by_label and not same then $forever
    when same then greatest(moved.a, moved.b)
    else greatest(old_e, new_e)
  end as until_ms
from pairs
where not same or moved.a <> moved.b
