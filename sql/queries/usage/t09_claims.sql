-- claims: named holdings while their source is believed; only intervals from labels end where the next begins
create or replace temp table claims as
with
label_claims as (
  select
    x.*,
    not exists (
      select 1
      from standing as d
      where d.c = x.c and d.device_id = x.device_id and d.s <= x.s and x.s < d.e and d.shared
    ) as alone
  from evidence as x
  where x.by_label and x.s < x.e
),

changes as (
  select
    *,
    coalesce(a <> lag(a) over (partition by c, device_id order by s, a), true) as changes
  from label_claims
),

runs as (
  select
    * exclude (changes),
    sum(changes::integer) over (partition by c, device_id order by s, a rows unbounded preceding) as run
  from changes
),

next_begin as (
  select
    *,
    min(s) filter (where alone) over (
      partition by c, device_id order by run range between 1 following and unbounded following
    ) as next_s
  from runs
),

all_claims as (
  select c, a, device_id, parts, s, e, bound, rank
  from evidence
  where not by_label
  union all by name
  select c, a, device_id, parts, s, least(e, coalesce(next_s, $forever)) as e, bound, rank
  from next_begin
)

select
  x.c,
  x.a,
  x.device_id,
  x.parts,
  greatest(x.s, b.s) as s,
  least(x.e, b.e) as e,
  x.bound,
  x.rank
from all_claims as x
inner join told_allocations as a on x.c = a.c and x.a = a.a
inner join believed as b on x.c = b.c and a.source = b.source and x.s < b.e and b.s < x.e
where x.s < x.e
