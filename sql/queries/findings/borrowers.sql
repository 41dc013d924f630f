-- borrowers: who holds what is promised to others at the end, since when, and whether the lender waits
with
lent as (
  select cluster, pool, lender, borrower, epoch_ms(row_start_at) as s, epoch_ms(row_end_at) as e, lent_pms
  from lending_hourly
  where
    cluster = $cluster
    and row_start_at >= make_timestamptz(($at_ms::bigint - $quota_ms::bigint) * 1000)
    and row_start_at < make_timestamptz($from_ms::bigint * 1000)
  union all
  select cluster, pool, lender, borrower, row_start_at as s, row_end_at as e, lent_pms
  from lending_rows
),

marked as (
  select *, coalesce(s <> lag(e) over w, true) as begins
  from lent
  window w as (partition by cluster, pool, lender, borrower order by s)
),

runs as (
  select *, sum(begins::integer) over (partition by cluster, pool, lender, borrower order by s rows unbounded preceding) as run
  from marked
),

last_hour as (
  select cluster, pool, team, arg_max(waiting_pms, s) > 0 as waits
  from promises
  group by cluster, pool, team
)

select
  r.cluster,
  r.pool,
  r.lender,
  r.borrower,
  min(r.s) as since_ms,
  (arg_max(r.lent_pms, r.s) // greatest(1, max(r.e) - max(r.s)))::bigint as parts,
  coalesce(any_value(h.waits), false) as lender_waits
from runs as r
left join last_hour as h on r.cluster = h.cluster and r.pool = h.pool and r.lender = h.team
group by r.cluster, r.pool, r.lender, r.borrower, r.run
having max(r.e) >= $at_ms and parts > 0
order by r.cluster, r.pool, r.borrower, r.lender
