-- quota_shares: what is borrowed comes first from spare capacity, then from unused guarantees, both by largest remainder
create or replace temp table quota_shares as
with
totals as (
  select
    *,
    sum(borrowed) over (partition by c, pool, s)::bigint as all_borrowed,
    sum(unused) over (partition by c, pool, s)::bigint as all_unused,
    greatest(0, capacity - sum(promised) over (partition by c, pool, s))::bigint as spare
  from quota_states
),

amounts as (
  select
    *,
    least(spare, all_borrowed) as all_from_spare,
    all_borrowed - least(spare, all_borrowed) as all_lent
  from totals
),

floors as (
  select
    *,
    coalesce(all_from_spare::hugeint * borrowed // nullif(all_borrowed, 0), 0)::bigint as from_spare_floor,
    coalesce(all_from_spare::hugeint * borrowed % nullif(all_borrowed, 0), 0)::bigint as from_spare_rest,
    coalesce(all_lent::hugeint * unused // nullif(all_unused, 0), 0)::bigint as lent_floor,
    coalesce(all_lent::hugeint * unused % nullif(all_unused, 0), 0)::bigint as lent_rest
  from amounts
)

select
  * exclude (from_spare_floor, from_spare_rest, lent_floor, lent_rest),
  from_spare_floor + (
    row_number() over (partition by c, pool, s order by from_spare_rest desc, team)
    <= all_from_spare - sum(from_spare_floor) over (partition by c, pool, s)
  )::bigint as from_spare,
  lent_floor + (
    row_number() over (partition by c, pool, s order by lent_rest desc, team)
    <= all_lent - sum(lent_floor) over (partition by c, pool, s)
  )::bigint as lent
from floors
