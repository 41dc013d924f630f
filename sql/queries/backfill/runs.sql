-- runs: each series of a span whose samples name the same pod (or none) from one page to another, with what it calls its device
with
spoken as (
  select
    series_id,
    label_ref,
    epoch_ms(sampled_at) as at_ms
  from samples
  where
    cluster = $cluster
    and source = 'prometheus'
    and sampled_at >= make_timestamptz($from_ms::bigint * 1000)
    and sampled_at < make_timestamptz($until_ms::bigint * 1000)
),

-- nearly every hour names one pod alone, and is one row then
hours as (
  select
    series_id,
    at_ms // 3600000 as hour,
    min(label_ref) as label_ref,
    min(at_ms) as at_ms,
    max(at_ms) as last_ms,
    count(label_ref) = 0 or (count(label_ref) = count(*) and min(label_ref) = max(label_ref)) as is_alike
  from spoken
  group by series_id, hour
),

stretches as (
  select
    series_id,
    label_ref,
    at_ms,
    last_ms
  from hours
  where is_alike
  union all
  select
    s.series_id,
    s.label_ref,
    s.at_ms,
    s.at_ms as last_ms
  from spoken as s
  inner join hours as h on s.series_id = h.series_id and s.at_ms // 3600000 = h.hour
  where not h.is_alike
),

followed as (
  select
    series_id,
    label_ref,
    at_ms,
    lag(last_ms) over w as before_ms,
    max(last_ms) over (partition by series_id) as last_ms
  from stretches
  window w as (partition by series_id order by at_ms)
  qualify before_ms is null or label_ref is distinct from lag(label_ref) over w
),

runs as (
  select
    series_id,
    label_ref,
    at_ms,
    before_ms,
    lead(before_ms, 1, last_ms) over (partition by series_id order by at_ms) as last_ms
  from followed
)

select
  x.node,
  x.gpu_uuid,
  x.gi_id,
  x.vgpu,
  x.profile,
  x.model,
  x.device_index,
  r.label_ref,
  r.at_ms,
  r.before_ms,
  r.last_ms
from runs as r
inner join series as x
  on
    x.cluster = $cluster
    and r.series_id = x.series_id
    and r.at_ms >= epoch_ms(x.start_at)
    and (x.end_at is null or r.at_ms < epoch_ms(x.end_at))
order by x.node, r.at_ms, x.gpu_uuid, x.gi_id, x.vgpu
