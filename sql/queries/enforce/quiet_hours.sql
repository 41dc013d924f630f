-- quiet_hours: each workload at the end of each hour in which every device of it was known to be idle by two signals for 95 % of
-- what it was held, and none computed; with the start of the run of such hours, and of the last hour in which it computed
with
named as (
  select
    device_id,
    any_value(node || '/' || device_index) as place
  from devices
  where cluster = $cluster
  group by device_id
),

hours as (
  select
    u.workload_id,
    epoch_ms(date_trunc('hour', u.row_start_at)) as h,
    bool_and(u.computing_pms = 0 and u.idle_confirmed_pms * 20 >= u.held_pms * 19) as quiet,
    bool_or(u.computing_pms > 0) as busy,
    min((u.held_pms - u.unknown_pms) * 1000 // u.held_pms)::bigint as known_permille,
    list_sort(list(distinct coalesce(n.place, u.device_id::varchar))) as places
  from usage_hourly as u
  left join named as n on u.device_id = n.device_id
  where
    u.cluster = $cluster and u.allocation_id is not null and u.held_pms > 0
    and u.row_start_at >= make_timestamptz($from_ms::bigint * 1000)
    and u.row_start_at < make_timestamptz($until_ms::bigint * 1000)
  group by all
),

broken as (
  select
    *,
    not quiet or h <> lag(h, 1, h - 3600000) over (partition by workload_id order by h) + 3600000 as breaks
  from hours
),

runs as (
  select *, count(*) filter (where breaks) over (partition by workload_id order by h rows unbounded preceding) as run
  from broken
),

since as (
  select
    *,
    min(h) filter (where quiet) over (partition by workload_id, run) as since_ms,
    max(h) filter (where busy) over (partition by workload_id order by h rows unbounded preceding) as busy_ms
  from runs
),

disputed as (
  select distinct
    s.workload_id,
    s.h
  from since as s
  inner join allocations as a on a.cluster = $cluster and s.workload_id = a.workload_id
  inner join findings as f
    on
      f.cluster = $cluster
      and f.kind = 'sources disagree'
      and f.subject = a.namespace || '/' || a.pod
      and epoch_ms(f.start_at) < s.h + 3600000
      and coalesce(epoch_ms(f.end_at), $forever::bigint) > s.since_ms
)

select
  s.workload_id,
  s.h + 3600000 as at_ms,
  s.since_ms,
  s.busy_ms,
  s.known_permille,
  s.places,
  d.h is not null as disputed
from since as s
left join disputed as d on s.workload_id = d.workload_id and s.h = d.h
where s.quiet
