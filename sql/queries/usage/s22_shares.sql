-- quota_shares: what is borrowed comes first from spare capacity, then from unused guarantees, both by largest remainder
create or replace temp table quota_shares as
with
totals as (
  select
    i,
    sum(borrowed)::bigint as all_borrowed,
    sum(unused)::bigint as all_unused,
    least(greatest(0, any_value(capacity) - sum(promised)), sum(borrowed))::bigint as all_from_spare,
    (sum(borrowed) - least(greatest(0, any_value(capacity) - sum(promised)), sum(borrowed)))::bigint as all_lent
  from quota_states
  group by i
),

-- where all or nothing is given there is nothing to share; the rest is little
spare_shares as (
  select
    q.i,
    q.k,
    (t.all_from_spare::hugeint * q.borrowed // t.all_borrowed)::bigint as least_parts,
    (t.all_from_spare::hugeint * q.borrowed % t.all_borrowed)::bigint as rest,
    t.all_from_spare as total,
    q.team
  from quota_states as q
  inner join totals as t on q.i = t.i
  where t.all_from_spare > 0 and t.all_from_spare < t.all_borrowed and q.borrowed > 0
),

lent_shares as (
  select
    q.i,
    q.k,
    (t.all_lent::hugeint * q.unused // t.all_unused)::bigint as least_parts,
    (t.all_lent::hugeint * q.unused % t.all_unused)::bigint as rest,
    t.all_lent as total,
    q.team
  from quota_states as q
  inner join totals as t on q.i = t.i
  where t.all_lent > 0 and t.all_lent < t.all_unused and q.unused > 0
),

from_spares as (
  select
    i,
    k,
    least_parts + (
      row_number() over (partition by i order by rest desc, team) <= total - sum(least_parts) over (partition by i)
    )::bigint as parts
  from spare_shares
),

lents as (
  select
    i,
    k,
    least_parts + (
      row_number() over (partition by i order by rest desc, team) <= total - sum(least_parts) over (partition by i)
    )::bigint as parts
  from lent_shares
)

select
  q.*,
  t.all_lent,
  case
    when t.all_from_spare = t.all_borrowed then q.borrowed
    else coalesce(f.parts, 0)
  end as from_spare,
  case
    when t.all_lent = t.all_unused then q.unused
    else coalesce(l.parts, 0)
  end as lent
from quota_states as q
inner join totals as t on q.i = t.i
left join from_spares as f on q.i = f.i and q.k = f.k
left join lents as l on q.i = l.i and q.k = l.k
