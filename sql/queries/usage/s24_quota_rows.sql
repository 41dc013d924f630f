-- quota_rows: quota_hourly of the asked spans
create or replace temp table quota_rows as
select
  k.cluster,
  q.row_s as row_start_at,
  q.row_e as row_end_at,
  q.team,
  q.pool,
  sum(q.promised * (q.e - q.s))::bigint as guaranteed_pms,
  sum(q.held * (q.e - q.s))::bigint as held_pms,
  sum(q.inside * (q.e - q.s))::bigint as within_pms,
  sum(q.borrowed * (q.e - q.s))::bigint as borrowed_pms,
  sum(q.lent * (q.e - q.s))::bigint as lent_pms,
  sum(q.from_spare * (q.e - q.s))::bigint as from_spare_pms,
  sum(q.unused * (q.e - q.s))::bigint as unused_pms,
  sum(q.waiting * (q.e - q.s))::bigint as waiting_pms
from quota_shares as q
inner join asked_clusters as k on q.c = k.c
group by k.cluster, q.row_s, q.row_e, q.team, q.pool
having guaranteed_pms > 0 or held_pms > 0 or waiting_pms > 0
