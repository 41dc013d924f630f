-- which workloads would fit a MIG slice, by their peaks of memory and activity: the smallest slice, in sevenths
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
-- param: gpu_memory_gib decimal, default 80, the memory of the whole GPU
-- param: hours decimal, default 24, the fewest GPU-hours held
with
used as (
  select
    cluster,
    workload_id,
    team,
    sum(held_gpu_h) as held_gpu_h,
    max(memory_peak_gib) as memory_peak_gib,
    max(activity_peak_percent) as activity_peak_percent,
    100.0 * (sum(held_gpu_h) - sum(unknown_gpu_h)) / sum(held_gpu_h) as coverage_percent
  from reporting.usage_by_day
  where
    workload_id is not null
    and held_gpu_h > 0
    and ($from is null or day >= $from)
    and ($to is null or day <= $to)
    and ($team is null or team = $team)
  group by cluster, workload_id, team
),

fitted as (
  select
    *,
    case
      when memory_peak_gib <= $gpu_memory_gib * 0.125 and activity_peak_percent <= 14 then '1/7'
      when memory_peak_gib <= $gpu_memory_gib * 0.25 and activity_peak_percent <= 28 then '2/7'
      when memory_peak_gib <= $gpu_memory_gib * 0.5 and activity_peak_percent <= 42 then '3/7'
    end as slice
  from used
  where held_gpu_h >= $hours
)

select
  f.team,
  w.namespace,
  w.kind,
  w.name,
  f.slice,
  round(f.held_gpu_h, 1) as held_gpu_h,
  f.memory_peak_gib,
  f.activity_peak_percent,
  round(f.coverage_percent, 1) as coverage_percent
from fitted as f
left join reporting.workloads as w on f.cluster = w.cluster and f.workload_id = w.workload_id and f.team = w.team
where f.slice is not null
order by f.held_gpu_h desc, f.team, w.name
