-- workloads: the $most that cost most, and the $idlest that wasted most of those that wasted more than one fifth of what they held
with
workloads_of_week as (
  select
    cluster,
    workload_id,
    team,
    sum(columns(* exclude (business_day, cluster, pool, model, team, workload_id, activity_peak, power_peak))),
    max(activity_peak) as activity_peak,
    max(power_peak) as power_peak
  from week_rows
  where workload_id is not null
  group by all
  having sum(held) > 0
),

ranked as (
  select
    *,
    count(*) over () as workload_count,
    row_number() over (order by owed_micros desc, held desc, cluster, workload_id, team) as cost_rank,
    idle_micros + stalled_micros as wasted_micros,
    idle + stalled as wasted,
    row_number() over (
      order by wasted * 5 > held desc, wasted_micros desc, wasted desc, cluster, workload_id, team
    ) as idle_rank,
    wasted * 5 > held as mostly_idle
  from workloads_of_week
)

select *
from ranked
where cost_rank <= $most or (mostly_idle and idle_rank <= $idlest)
order by cost_rank
