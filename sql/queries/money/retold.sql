-- retold: from when to when allocations were there of which it was told anew, in the snapshots $after to $now, whether they may be
-- preempted or what they ask for beside GPUs; end null: they still are
with
told as (
  select distinct
    cluster,
    allocation_id
  from ducklake_table_insertions('lake', 'main', 'allocations_versions', $after::bigint, $now::bigint)
)

select
  epoch_ms(min(v.start_at)) as start_ms,
  epoch_ms(if(bool_or(v.end_at is null), null, max(v.end_at))) as end_ms
from allocations_versions as v
semi join told as t on v.cluster = t.cluster and v.allocation_id = t.allocation_id
group by v.cluster, v.allocation_id
having
  count(distinct coalesce(v.preemptible, true)) > 1
  or count(distinct coalesce(v.cpu_milli, -1)) > 1
  or count(distinct coalesce(v.memory_mib, -1)) > 1
