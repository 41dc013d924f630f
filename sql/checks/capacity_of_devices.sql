-- pools and hours whose capacity in usage is not that of the devices that stood there (late differences included)
with
node_spans as (
  select
    cluster,
    node,
    pool,
    coalesce(gpu_count, 0) as gpu_count,
    epoch_ms(start_at) as since,
    least(
      coalesce(epoch_ms(end_at), 9000000000000000),
      lead(epoch_ms(start_at), 1, 9000000000000000) over (partition by cluster, node order by start_at)
    ) as until
  from nodes
),

device_spans as (
  select
    cluster,
    node,
    device_id,
    device_index,
    parts,
    coalesce(evidence, '') = 'assumed' as assumed,
    epoch_ms(start_at) as since,
    least(
      coalesce(epoch_ms(end_at), 9000000000000000),
      lead(epoch_ms(start_at), 1, 9000000000000000) over (partition by cluster, device_id order by start_at)
    ) as until
  from devices
),

changes as (
  select
    cluster,
    node,
    since as at_ms
  from node_spans
  union
  select
    cluster,
    node,
    until as at_ms
  from node_spans
  union
  select
    cluster,
    node,
    since as at_ms
  from device_spans
  union
  select
    cluster,
    node,
    until as at_ms
  from device_spans
),

steady as (
  select
    cluster,
    node,
    at_ms as since,
    lead(at_ms) over (partition by cluster, node order by at_ms) as until
  from changes
),

-- at each index the named devices, or else the assumed one
indices as (
  select
    s.cluster,
    s.node,
    s.since,
    s.until,
    d.device_index,
    coalesce(sum(d.parts) filter (where not d.assumed), sum(d.parts)) as parts
  from steady as s
  inner join device_spans as d on s.cluster = d.cluster and s.node = d.node and d.since <= s.since and d.until >= s.until
  group by all
),

-- what gpu_count has and nobody names counts as whole GPUs
node_capacity as (
  select
    s.cluster,
    n.pool,
    s.since,
    s.until,
    coalesce(sum(i.parts), 0) + greatest(0, any_value(n.gpu_count) - count(i.device_index)) * 168000 as parts
  from steady as s
  inner join node_spans as n on s.cluster = n.cluster and s.node = n.node and n.since <= s.since and n.until >= s.until
  left join indices as i on s.cluster = i.cluster and s.node = i.node and s.since = i.since
  group by s.cluster, s.node, n.pool, s.since, s.until
),

told as (
  select
    cluster,
    row_start_at,
    row_end_at,
    pool,
    sum(capacity_pms) as capacity_pms
  from usage_hourly
  group by all
),

late as (
  select
    cluster,
    row_start_at,
    pool,
    sum(capacity_pms) as capacity_pms
  from usage_late
  group by all
),

rows_of_clusters as (
  select distinct
    cluster,
    row_start_at,
    row_end_at
  from usage_hourly
),

expected as (
  select
    r.cluster,
    r.row_start_at,
    c.pool,
    sum(c.parts * (least(c.until, epoch_ms(r.row_end_at)) - greatest(c.since, epoch_ms(r.row_start_at)))) as capacity_pms
  from rows_of_clusters as r
  inner join node_capacity as c
    on r.cluster = c.cluster and c.since < epoch_ms(r.row_end_at) and c.until > epoch_ms(r.row_start_at)
  group by all
)

select
  cluster,
  row_start_at,
  pool,
  coalesce(t.capacity_pms, 0) + coalesce(l.capacity_pms, 0) as usage_pms,
  coalesce(e.capacity_pms, 0) as devices_pms
from told as t
full join expected as e using (cluster, row_start_at, pool)
left join late as l using (cluster, row_start_at, pool)
where coalesce(t.capacity_pms, 0) + coalesce(l.capacity_pms, 0) <> coalesce(e.capacity_pms, 0)
