-- unnamed: what must be laid on free parts of a node while that node is there: pods whose device nobody names,
-- and holdings of a device that is not there at the time
create or replace temp table unnamed as
with
present as (
  select
    x.c,
    x.a,
    x.device_id,
    x.parts,
    x.bound,
    x.s,
    x.e,
    case when d.s is not null then greatest(x.s, d.s) end as here_s,
    case when d.s is not null then least(x.e, d.e) end as here_e
  from claims as x
  left join alive as d on x.c = d.c and x.device_id = d.device_id and x.s < d.e and d.s < x.e
  qualify coalesce(sum(here_e - here_s) over (partition by x.c, x.a, x.device_id, x.s), 0) < x.e - x.s
),

holes as (
  select
    c,
    a,
    parts,
    bound,
    coalesce(lag(here_e) over (partition by c, a, device_id, s order by here_s), s) as s,
    coalesce(here_s, e) as e
  from present
  union all
  select c, a, any_value(parts) as parts, any_value(bound) as bound, max(here_e) as s, e
  from present
  where here_e is not null
  group by c, a, device_id, s, e
),

unevident as (
  select
    a.c,
    a.a,
    a.gpu_parts as parts,
    a.s as bound,
    greatest(a.s, b.s) as s,
    least(a.e, b.e) as e
  from told_allocations as a
  inner join believed as b on a.c = b.c and a.source = b.source and a.s < b.e and b.s < a.e
  where not exists (
    select 1
    from evidence as x
    where x.c = a.c and x.a = a.a
  )
),

wanted as (
  select c, a, parts, bound, s, e
  from holes
  where s < e
  union all by name
  select c, a, parts, bound, s, e from unevident
)

select
  w.c,
  w.a,
  n.node,
  n.pool,
  n.model,
  w.parts,
  w.bound,
  greatest(w.s, n.s) as s,
  least(w.e, n.e) as e
from wanted as w
inner join told_allocations as a on w.c = a.c and w.a = a.a
inner join told_nodes as n on w.c = n.c and a.node = n.node and w.s < n.e and n.s < w.e
where w.parts > 0
