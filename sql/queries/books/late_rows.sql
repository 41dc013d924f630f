-- late_rows: what the roll-up measured of closed hours, less what the ledger has of them: their closed rows and earlier differences.
-- measured_usage (times in epoch ms) and closed_spans(start_ms, end_ms) are given, and $cluster, $from_at and $until_at
with
measured as (
  select
    * replace (
      make_timestamptz(row_start_at * 1000) as row_start_at,
      make_timestamptz(row_end_at * 1000) as row_end_at
    )
  from measured_usage as m
  semi join closed_spans as s on m.row_start_at >= s.start_ms and m.row_start_at < s.end_ms
),

told as (
  select * from usage_hourly
  union all by name
  select * exclude (recorded_at) from usage_late
),

closed as (
  select t.*
  from told as t
  semi join closed_spans as s
    on epoch_ms(t.row_start_at) >= s.start_ms and epoch_ms(t.row_start_at) < s.end_ms
  where t.cluster = $cluster and t.row_start_at >= $from_at and t.row_start_at < $until_at
),

either as (
  select
    *,
    1 as part
  from measured
  union all by name
  select
    *,
    -1 as part
  from closed
),

summed as (
  select
    cluster,
    row_start_at,
    pool,
    model,
    node,
    device_id,
    allocation_id,
    workload_id,
    team,
    max(row_end_at) as row_end_at,
    sum(part * coalesce(capacity_pms, 0))::bigint as capacity_pms,
    sum(part * coalesce(held_pms, 0))::bigint as held_pms,
    sum(part * coalesce(computing_pms, 0))::bigint as computing_pms,
    sum(part * coalesce(idle_pms, 0))::bigint as idle_pms,
    sum(part * coalesce(unknown_pms, 0))::bigint as unknown_pms,
    sum(part * coalesce(unallocated_pms, 0))::bigint as unallocated_pms,
    sum(part * coalesce(unavailable_pms, 0))::bigint as unavailable_pms,
    sum(part * coalesce(unobserved_pms, 0))::bigint as unobserved_pms,
    sum(part * coalesce(idle_confirmed_pms, 0))::bigint as idle_confirmed_pms,
    sum(part * coalesce(stalled_pms, 0))::bigint as stalled_pms,
    sum(part * coalesce(faulted_pms, 0))::bigint as faulted_pms,
    sum(part * coalesce(not_started_pms, 0))::bigint as not_started_pms,
    sum(part * coalesce(borrowed_pms, 0))::bigint as borrowed_pms,
    sum(part * coalesce(estimated_pms, 0))::bigint as estimated_pms,
    sum(part * coalesce(overbooked_pms, 0))::bigint as overbooked_pms,
    sum(part * coalesce(energy_j, 0))::bigint as energy_j,
    sum(part * coalesce(energy_known_pms, 0))::bigint as energy_known_pms,
    sum(part * coalesce(activity_permille_pms, 0))::bigint as activity_permille_pms
  from either
  group by all
)

select *
from summed
where
  capacity_pms <> 0
  or held_pms <> 0
  or computing_pms <> 0
  or idle_pms <> 0
  or unknown_pms <> 0
  or unallocated_pms <> 0
  or unavailable_pms <> 0
  or unobserved_pms <> 0
  or idle_confirmed_pms <> 0
  or stalled_pms <> 0
  or faulted_pms <> 0
  or not_started_pms <> 0
  or borrowed_pms <> 0
  or estimated_pms <> 0
  or overbooked_pms <> 0
  or energy_j <> 0
  or energy_known_pms <> 0
  or activity_permille_pms <> 0
