-- clusters: how far each is rolled up, and the coverage of the last seven days before that
with
rolled as (
  select
    cluster,
    max(rolled_until_at) as rolled_until_at
  from rollup_marks
  group by cluster
),

known as (
  select
    u.cluster,
    sum(u.held_pms) as held_pms,
    sum(u.unknown_pms) as unknown_pms,
    sum(u.capacity_pms) as capacity_pms
  from usage_hourly as u
  inner join rolled as r on u.cluster = r.cluster
  where u.row_start_at >= r.rolled_until_at - interval 7 day
  group by u.cluster
)

select
  r.cluster,
  epoch_ms(r.rolled_until_at) as rolled_until_ms,
  k.capacity_pms / 604800000000.0 as capacity_gpu_h,
  k.held_pms / 604800000000.0 as held_gpu_h,
  (k.held_pms - k.unknown_pms) / nullif(k.held_pms, 0) as coverage
from rolled as r
left join known as k on r.cluster = k.cluster
order by r.cluster
