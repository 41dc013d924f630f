-- lending_rows: lending_hourly of the asked spans: what is lent and what is borrowed laid side by side in order of name
create or replace temp table lending_rows as
with
moving as (
  select i, c, pool, team, s, e, row_s, row_e, lent, borrowed - from_spare as taken
  from quota_shares
  where all_lent > 0 and (lent > 0 or borrowed > from_spare)
),

laid as (
  select
    *,
    sum(lent) over w as lent_top,
    sum(taken) over w as taken_top
  from moving
  window w as (partition by i order by team rows unbounded preceding)
)

select
  k.cluster,
  l.row_s as row_start_at,
  l.row_e as row_end_at,
  l.pool,
  l.team as lender,
  b.team as borrower,
  sum((least(l.lent_top, b.taken_top) - greatest(l.lent_top - l.lent, b.taken_top - b.taken)) * (l.e - l.s))::bigint as lent_pms
from laid as l
inner join laid as b
  on
    l.i = b.i
    and l.lent_top - l.lent < b.taken_top and b.taken_top - b.taken < l.lent_top
inner join asked_clusters as k on l.c = k.c
where l.lent > 0 and b.taken > 0
group by all
