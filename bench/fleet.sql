-- $days days, from day $day on, of 10,000 GPUs as the roll-up would have written them and compaction merged them; day 0 begins at
-- $start. Ten pools of a thousand GPUs, a tenth of each free. In pool n workloads hold 1 + n % 8 GPUs each, for three days;
-- nine tenths of that time they compute, and of a hundred workloads one does nothing at all. 604,800,000,000 pms are a GPU-hour.
insert into usage_hourly by name
with
device as (
  select
    d,
    day,
    d // 1000 as pool,
    d % 1000 >= 100 as held,
    d // (1 + d // 1000 % 8) + (day // 3) * 10000 as workload
  from range(10000) as devices (d), range($day, $day + $days) as days (day)
),

hours as (
  select
    *,
    604800000000 as pms,
    case when workload % 100 = 0 then 0 else pms * 9 // 10 end as busy,
    $start::timestamptz + to_hours(day * 24 + h) as row_start_at
  from device, range(24) as hours (h)
)

select
  'cluster-' || pool % 2 as cluster,
  row_start_at,
  row_start_at + to_hours(1) as row_end_at,
  'pool-' || pool as pool,
  case when pool % 3 = 0 then 'NVIDIA A100' else 'NVIDIA H100' end as model,
  'node-' || d // 8 as node,
  d as device_id,
  case when held then workload * 1000 + d end as allocation_id,
  case when held then workload end as workload_id,
  case when held then 'team-' || workload % 40 end as team,
  pms as capacity_pms,
  case when held then pms else 0 end as held_pms,
  case when held then busy else 0 end as computing_pms,
  case when held then pms - busy else 0 end as idle_pms,
  0 as unknown_pms,
  case when held then 0 else pms end as unallocated_pms,
  0 as unavailable_pms,
  0 as unobserved_pms,
  0 as idle_confirmed_pms,
  0 as stalled_pms,
  0 as faulted_pms,
  0 as not_started_pms,
  0 as borrowed_pms,
  0 as estimated_pms,
  0 as overbooked_pms,
  1000000 + hash(d, h, day) % 1000000 as energy_j,
  pms as energy_known_pms,
  busy * 850 as activity_permille_pms,
  900 as activity_peak_permille,
  6800 as power_peak_dw,
  60000 as fb_used_peak_mib
from hours
;

insert into usage_daily by name
select
  cluster,
  strftime(row_start_at, '%Y-%m-%d') as business_day,
  pool,
  model,
  team,
  workload_id,
  sum(columns('_pms$|^energy_j$'))::decimal(38, 0),
  max(columns('_peak_'))
from usage_hourly
where row_start_at >= $start::timestamptz + to_days($day) and row_start_at < $start::timestamptz + to_days($day + $days)
group by all
;

insert into quota_hourly by name
select
  'cluster-' || p % 2 as cluster,
  $start::timestamptz + to_hours(h) as row_start_at,
  $start::timestamptz + to_hours(h + 1) as row_end_at,
  'team-' || t as team,
  'pool-' || p as pool,
  20 * 604800000000 as guaranteed_pms,
  18 * 604800000000 as held_pms,
  18 * 604800000000 as within_pms,
  0 as borrowed_pms,
  0 as lent_pms,
  0 as from_spare_pms,
  2 * 604800000000 as unused_pms,
  0 as waiting_pms
from range(10) as pools (p), range(40) as teams (t), range($day * 24, ($day + $days) * 24) as hours (h)
;

insert into workloads_versions by name
select
  cluster,
  workload_id,
  min(business_day)::timestamptz as start_at,
  case workload_id % 3 when 0 then 'Notebook' else 'PyTorchJob' end as kind,
  'ns-' || workload_id % 40 as namespace,
  'job-' || workload_id as name,
  0 as revision,
  min(business_day)::timestamptz as recorded_at
from usage_daily
where business_day between $first_day and $last_day and workload_id is not null
group by all
;

insert into teams_versions by name
select
  t as team_id,
  'team-' || t as team,
  $start::timestamptz as start_at,
  'department-' || t % 6 as department,
  0 as revision,
  $start::timestamptz as recorded_at
from range(40) as teams (t)
where $day = 0
;

-- each of the 1,250 nodes was silent for two minutes once in ten days; a version when it began and one when it was over
insert into gaps_versions by name
select
  'cluster-' || n // 125 % 2 as cluster,
  $day * 10000 + n as gap_id,
  $start::timestamptz + to_hours($day * 24 + n % 240) as start_at,
  case revision when 1 then start_at + to_minutes(2) end as end_at,
  'telemetry' as covers,
  'dcgm' as source,
  'http://node-' || n || ':9400/metrics' as target,
  'node-' || n as node,
  case n % 3 when 0 then 'refused' else 'timeout' end as reason,
  revision,
  start_at + to_minutes(2) * revision as recorded_at
from range(1250) as nodes (n), range(2) as revisions (revision)
;

insert into rollup_marks by name
select
  'cluster-' || c as cluster,
  $start::timestamptz as rolled_from_at,
  $start::timestamptz + to_hours(h + 1) as rolled_until_at,
  75000 as longest_hold_ms,
  'UTC' as time_zone,
  rolled_until_at as recorded_at
from range(2) as clusters (c), range($day * 24, ($day + $days) * 24) as hours (h)
