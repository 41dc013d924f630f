-- misfits: usage that cannot be priced as it is: a row across the instant at which its price begins or ends, or one that
-- breaks rule 1. segments, profiles and business_days are given, and $begin_at, when charging begins
with
judged as (
  select
    u.cluster,
    u.pool,
    u.model,
    u.row_start_at,
    u.row_start_at < $begin_at and u.row_end_at > $begin_at or u.row_end_at > least(s.end_at, d.end_at) as crossing,
    u.capacity_pms <> u.held_pms + u.unallocated_pms + u.unavailable_pms + u.unobserved_pms
    or least(u.held_pms, u.unallocated_pms, u.unavailable_pms, u.unobserved_pms) < 0
    or u.faulted_pms not between 0 and u.held_pms as unbalanced
  from usage_hourly as u
  inner join business_days as d on u.row_start_at >= d.start_at and u.row_start_at < d.end_at
  left join profiles as f on u.cluster = f.cluster and u.device_id = f.device_id
  left join segments as s
    on
      s.rate_id is not null
      and u.cluster = s.cluster
      and u.pool is not distinct from s.pool
      and u.model is not distinct from s.model
      and coalesce(f.profile, '') = s.profile
      and u.row_start_at >= s.start_at
      and u.row_start_at < s.end_at
)

select
  cluster,
  pool,
  model,
  epoch_ms(row_start_at) as row_start_ms,
  crossing
from judged
where crossing or unbalanced
order by row_start_at, cluster, pool, model
limit 1
