-- One day of 10,000 GPUs as the roll-up would have written it: day counts from 0, start is its midnight, name its date.
-- Ten pools of a thousand GPUs, a tenth of each free. In pool n workloads hold 1 + n % 8 GPUs each, for three days; nine
-- tenths of that time they compute, and of a hundred workloads one does nothing at all. 604,800,000,000 pms are a GPU-hour.
insert into usage_hourly by name
with device as (
  select
    d,
    d // 1000 as pool,
    d % 1000 >= 100 as held,
    d // (1 + d // 1000 % 8) + ($day // 3) * 10000 as workload
  from range(10000) as devices (d)
),
hours as (
  select
    *,
    604800000000 as pms,
    case when workload % 100 = 0 then 0 else pms * 9 // 10 end as busy
  from device, range(24) as hours (h)
)
select
  'cluster-' || pool % 2 as cluster,
  $start::timestamptz + to_hours(h) as row_start_at,
  $start::timestamptz + to_hours(h + 1) as row_end_at,
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
  1000000 + hash(d, h, $day) % 1000000 as energy_j,
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
  $name as business_day,
  pool,
  model,
  team,
  workload_id,
  sum(columns('_pms$|^energy_j$'))::decimal(38, 0),
  max(columns('_peak_'))
from usage_hourly
where row_start_at >= $start::timestamptz and row_start_at < $start::timestamptz + interval 1 day
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
from range(10) as pools (p), range(40) as teams (t), range(24) as hours (h)
;

insert into workloads_versions by name
select distinct
  cluster,
  workload_id,
  $start::timestamptz as start_at,
  case workload_id % 3 when 0 then 'Notebook' else 'PyTorchJob' end as kind,
  'ns-' || workload_id % 40 as namespace,
  'job-' || workload_id as name,
  0 as revision,
  $start::timestamptz as recorded_at
from usage_daily
where business_day = $name and workload_id is not null
