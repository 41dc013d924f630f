-- both: what labels and Kubernetes tell of the pods that either of them has at the seam or that both know; one row a pod
with
labels as (
  select
    namespace,
    pod,
    node,
    min(epoch_ms(start_at)) as start_ms,
    max(coalesce(epoch_ms(end_at), $at_ms)) as end_ms,
    arg_max(gpu_parts, start_at) as gpu_parts
  from allocations
  where cluster = $cluster and source = 'labels' and epoch_ms(start_at) < $at_ms and pod <> ''
  group by namespace, pod, node
),

kubernetes as (
  select
    namespace,
    pod,
    node,
    min(epoch_ms(coalesce(started_at, start_at))) as start_ms,
    max(coalesce(least(epoch_ms(end_at), $at_ms), $at_ms)) as end_ms,
    arg_max(gpu_parts, start_at) as gpu_parts
  from allocations
  where cluster = $cluster and source = 'kubernetes' and epoch_ms(start_at) < $at_ms and started_at is not null
  group by namespace, pod, node
)

select
  coalesce(l.namespace, k.namespace) as namespace,
  coalesce(l.pod, k.pod) as pod,
  coalesce(l.node, k.node) as node,
  l.start_ms as labels_start_ms,
  l.end_ms as labels_end_ms,
  l.gpu_parts as labels_parts,
  k.start_ms as kubernetes_start_ms,
  k.end_ms as kubernetes_end_ms,
  k.gpu_parts as kubernetes_parts
from labels as l
full join kubernetes as k on l.namespace = k.namespace and l.pod = k.pod and l.node = k.node
where
  (l.pod is not null and k.pod is not null)
  or coalesce(l.end_ms, k.end_ms) >= $at_ms
order by namespace, pod, node
