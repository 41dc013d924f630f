-- small: what workloads of $teams (null: of all) that held whole GPUs alone for at least $least_pms on the days from $first_day
-- to $last_day used of them at most. Peaks are null where nothing told them on one of the days
with
used as (
  select
    cluster,
    workload_id,
    team,
    pool,
    model,
    sum(held_pms)::hugeint as held,
    sum(unknown_pms)::hugeint as unknown,
    sum(computing_pms)::hugeint as computing,
    max(activity_peak_permille) as activity_peak_permille,
    max(fb_used_peak_mib) as memory_peak_mib
  from usage_daily
  where
    business_day between $first_day and $last_day
    and workload_id is not null
    and held_pms > 0
    and ($teams is null or list_contains($teams, team))
  group by all
  having
    sum(held_pms) >= $least_pms
    and bool_and(activity_peak_permille is not null and fb_used_peak_mib is not null)
),

cut as (
  select distinct
    u.cluster,
    u.workload_id
  from usage_hourly as u
  inner join devices as d on u.cluster = d.cluster and u.device_id = d.device_id
  where
    u.row_start_at >= $start_at
    and u.row_start_at < $end_at
    and u.workload_id in (select workload_id from used)
    and d.kind <> 'gpu'
)

select
  u.*,
  coalesce(o.kind, 'workload') as kind,
  coalesce(o.namespace, '') as namespace,
  coalesce(o.name, format('{:x}', u.workload_id)) as name
from used as u
left join owners as o on u.cluster = o.cluster and u.workload_id = o.workload_id
left join cut as c on u.cluster = c.cluster and u.workload_id = c.workload_id
where c.workload_id is null
order by u.held desc, u.cluster, u.workload_id, u.team, u.pool, u.model
