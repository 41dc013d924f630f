-- changes: each page of the span on which a device is held by others than on its page before, and by whom.
-- The row of a whole GPU beside its instances is no device
with
asked as (
  select *
  from spoken
  where
    cluster = $cluster
    and source = $source
    and sampled_at >= make_timestamptz($from_ms::bigint * 1000)
    and sampled_at < make_timestamptz($until_ms::bigint * 1000)
),

cut as (
  select distinct node, gpu_uuid, sampled_at
  from asked
  where gi_id <> ''
),

seen as (
  select asked.*
  from asked
  anti join cut
    on
      asked.gi_id = ''
      and asked.node = cut.node
      and asked.gpu_uuid = cut.gpu_uuid
      and asked.sampled_at = cut.sampled_at
),

pages as (
  select
    node,
    gpu_uuid,
    gi_id,
    sampled_at,
    count(label_ref) as named,
    bit_xor(label_ref) as one_mark,
    sum(label_ref % 4294967291) as other_mark
  from seen
  group by node, gpu_uuid, gi_id, sampled_at
),

changed as (
  select
    node,
    gpu_uuid,
    gi_id,
    sampled_at,
    lag(sampled_at) over (partition by node, gpu_uuid, gi_id order by sampled_at) as before_at
  from pages
  qualify
    before_at is null
    or lag((named, one_mark, other_mark)) over (partition by node, gpu_uuid, gi_id order by sampled_at)
    is distinct from (named, one_mark, other_mark)
),

labels as (
  select distinct
    label_ref,
    struct_pack(namespace := namespace, pod := pod, pod_uid := pod_uid, hpc_job := hpc_job) as holder
  from label_refs
  where cluster = $cluster
)

select
  changed.node,
  changed.gpu_uuid,
  changed.gi_id,
  epoch_ms(changed.sampled_at) as at_ms,
  epoch_ms(any_value(changed.before_at)) as before_ms,
  coalesce(list(distinct labels.holder) filter (where labels.holder is not null), []) as holders
from changed
inner join seen
  on
    changed.node = seen.node
    and changed.gpu_uuid = seen.gpu_uuid
    and changed.gi_id = seen.gi_id
    and changed.sampled_at = seen.sampled_at
left join labels on seen.label_ref = labels.label_ref
group by changed.node, changed.gpu_uuid, changed.gi_id, changed.sampled_at
order by changed.node, at_ms, changed.gpu_uuid, changed.gi_id
