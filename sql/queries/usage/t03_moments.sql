-- moments: each node in spans in which neither it nor a device of it changes, with the indices that are named there
create or replace temp table moments as
with
bounds as (
  select c, node, s as t from told_nodes
  union
  select c, node, e as t from told_nodes
  union
  select c, node, s as t from standing
  union
  select c, node, e as t from standing
),

spans as (
  select c, node, t as s, lead(t) over (partition by c, node order by t) as e
  from bounds
)

select
  m.c,
  m.node,
  m.s,
  m.e,
  any_value(n.pool) as pool,
  any_value(n.model) as model,
  any_value(n.shared) as shared,
  any_value(n.ready) as ready,
  any_value(n.open_to_work) as open_to_work,
  any_value(n.gpu_count) as gpu_count,
  coalesce(list(distinct d.device_index) filter (where d.device_id is not null), []) as named,
  coalesce(list(distinct d.device_index) filter (where not d.assumed), []) as sure
from spans as m
inner join told_nodes as n on m.c = n.c and m.node = n.node and n.s <= m.s and m.e <= n.e
left join standing as d on m.c = d.c and m.node = d.node and d.s <= m.s and m.e <= d.e
group by m.c, m.node, m.s, m.e
