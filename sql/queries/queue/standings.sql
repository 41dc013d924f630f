-- standings: what each team held of its guarantee in each pool, in the last hour that is known of its cluster
with last_of as (
  select
    cluster,
    max(row_start_at) as row_start_at
  from quota_hourly
  group by cluster
)

select
  q.cluster,
  q.pool,
  q.team,
  (sum(q.guaranteed_pms) // sum(epoch_ms(q.row_end_at) - epoch_ms(q.row_start_at)))::bigint as guaranteed_parts,
  (sum(q.held_pms) // sum(epoch_ms(q.row_end_at) - epoch_ms(q.row_start_at)))::bigint as held_parts
from quota_hourly as q
inner join last_of as l on q.cluster = l.cluster and q.row_start_at = l.row_start_at
where $teams is null or list_contains($teams::varchar[], q.team)
group by q.cluster, q.pool, q.team
order by q.cluster, q.pool, q.team
