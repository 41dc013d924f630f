-- pools and hours where held is not within + borrowed, borrowed not lent + from spare, or the matrix of lenders not the lent
with
by_pool as (
  select
    cluster,
    row_start_at,
    pool,
    sum(held_pms - within_pms - borrowed_pms) as held_off_by,
    sum(borrowed_pms) as borrowed_pms,
    sum(lent_pms) as lent_pms,
    sum(from_spare_pms) as from_spare_pms
  from quota_hourly
  group by all
),

matrix as (
  select
    cluster,
    row_start_at,
    pool,
    sum(lent_pms) as lent_pms
  from lending_hourly
  group by all
)

select
  cluster,
  row_start_at,
  pool,
  coalesce(p.held_off_by, 0) as held_off_by,
  coalesce(p.borrowed_pms, 0) as borrowed_pms,
  coalesce(p.lent_pms, 0) as lent_pms,
  coalesce(p.from_spare_pms, 0) as from_spare_pms,
  coalesce(m.lent_pms, 0) as lent_by_lender_pms
from by_pool as p
full join matrix as m using (cluster, row_start_at, pool)
where
  coalesce(p.held_off_by, 0) <> 0
  or coalesce(p.borrowed_pms, 0) <> coalesce(p.lent_pms, 0) + coalesce(p.from_spare_pms, 0)
  or coalesce(p.lent_pms, 0) <> coalesce(m.lent_pms, 0)
