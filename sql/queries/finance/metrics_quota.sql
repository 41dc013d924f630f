-- metrics_quota: what was promised, borrowed, lent and waited for in each cluster's last hour that is rolled up whole
with
last_hours as (
  select
    cluster,
    max(rolled_until_at) as end_at
  from rollup_marks
  group by cluster
)

select
  q.cluster,
  coalesce(q.pool, '') as pool,
  q.team,
  sum(q.guaranteed_pms)::hugeint as guaranteed_pms,
  sum(q.borrowed_pms)::hugeint as borrowed_pms,
  sum(q.lent_pms)::hugeint as lent_pms,
  sum(q.waiting_pms)::hugeint as waiting_pms
from quota_hourly as q
inner join last_hours as h on q.cluster = h.cluster
where q.row_start_at >= h.end_at - interval 1 hour and q.row_start_at < h.end_at
group by q.cluster, coalesce(q.pool, ''), q.team
