-- coverage: how much each source made known of the day before the roll-up's end: of telemetry what it knows of its devices ÷ all
-- that was held in the cluster; of who is believed about holders observed ÷ capacity
with
days as (
  select
    cluster,
    max(rolled_until_at) as day_end_at,
    max(rolled_until_at) - interval 1 day as day_start_at
  from rollup_marks
  group by cluster
),

used as (
  select
    u.cluster,
    u.device_id,
    sum(u.capacity_pms) as capacity_pms,
    sum(u.held_pms) as held_pms,
    sum(u.held_pms - u.unknown_pms) as known_pms,
    sum(u.capacity_pms - u.unobserved_pms) as observed_pms
  from usage_hourly as u
  inner join days as d on u.cluster = d.cluster and u.row_start_at >= d.day_start_at and u.row_start_at < d.day_end_at
  group by u.cluster, u.device_id
),

clusters as (
  select
    cluster,
    sum(held_pms) as held_pms,
    sum(observed_pms) / nullif(sum(capacity_pms), 0) as observed
  from used
  group by cluster
),

spoken_of as (
  select distinct
    s.cluster,
    s.source,
    d.device_id
  from series as s
  inner join devices as d on s.cluster = d.cluster and s.gpu_uuid = d.gpu_uuid and s.gi_id = d.gi_id
  inner join days as y on s.cluster = y.cluster
  where s.start_at < y.day_end_at and (s.end_at is null or s.end_at > y.day_start_at)
),

believed as (
  select
    cluster,
    arg_min(source, (rank, source)) as source
  from authority
  where kind = 'holders' and end_at is null
  group by cluster
)

select
  s.cluster,
  s.source,
  'telemetry' as covers,
  sum(u.known_pms) / nullif(any_value(c.held_pms), 0) as coverage
from spoken_of as s
inner join used as u on s.cluster = u.cluster and s.device_id = u.device_id
inner join clusters as c on s.cluster = c.cluster
group by s.cluster, s.source
union all by name
select
  b.cluster,
  b.source,
  'holders' as covers,
  c.observed as coverage
from believed as b
inner join clusters as c on b.cluster = c.cluster
