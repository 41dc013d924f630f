-- spent: the usage of segments by team and workload, with the part of held time that each adjustment may touch. In a row each
-- time is touched once, by the first of: faulted, lost, preemptible, borrowed; what a system namespace held, by faulted alone.
-- segments, profiles, preemptible, lost and system_workloads are given.
with
met as (
  select
    s.segment,
    coalesce(u.team, '') as team,
    u.workload_id,
    y.workload_id is not null as is_system,
    u.held_pms as held,
    u.unallocated_pms as unallocated,
    u.unavailable_pms as unavailable,
    u.unobserved_pms as unobserved,
    case when s.bill_faulted then 0 else u.faulted_pms end as faulted,
    case
      when y.workload_id is null and u.row_start_at >= l.stopped_at - to_milliseconds(s.lost_at_most_ms) then u.held_pms
      else 0
    end as lost,
    case when y.workload_id is null and p.allocation_id is not null then u.held_pms else 0 end as preemptible,
    case when y.workload_id is null and s.borrowed_nano is not null then u.borrowed_pms else 0 end as borrowed,
    case
      when
        y.workload_id is null
        and s.idle_nano is not null
        and (u.computing_pms + u.idle_pms)::hugeint * 1000 >= u.held_pms::hugeint * s.idle_coverage_permille
        then u.idle_confirmed_pms
      else 0
    end as idle
  from usage_hourly as u
  left join profiles as f on u.cluster = f.cluster and u.device_id = f.device_id
  inner join segments as s
    on
      s.rate_id is not null
      and u.cluster = s.cluster
      and u.pool is not distinct from s.pool
      and u.model is not distinct from s.model
      and coalesce(f.profile, '') = s.profile
      and u.row_start_at >= s.start_at
      and u.row_start_at < s.end_at
  left join lost as l on s.lost_permille > 0 and u.cluster = l.cluster and u.allocation_id = l.allocation_id
  left join preemptible as p
    on s.preemptible_nano is not null and u.cluster = p.cluster and u.allocation_id = p.allocation_id
  left join system_workloads as y on s.card = y.card and u.cluster = y.cluster and u.workload_id = y.workload_id
),

-- what each leaves to the next
touched as (
  select
    * exclude (lost, preemptible, borrowed, idle),
    least(lost, held - faulted) as lost,
    least(preemptible, held - faulted - least(lost, held - faulted)) as preemptible,
    borrowed,
    least(idle, held - faulted - least(lost, held - faulted)) as idle
  from met
)

select
  segment,
  team,
  workload_id,
  is_system,
  sum(held) as held,
  sum(unallocated) as unallocated,
  sum(unavailable) as unavailable,
  sum(unobserved) as unobserved,
  sum(faulted) as faulted,
  sum(lost) as lost,
  sum(preemptible) as preemptible,
  sum(least(borrowed, held - faulted - lost - preemptible)) as borrowed,
  sum(idle) as idle
from touched
group by all
