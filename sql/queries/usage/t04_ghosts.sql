-- ghosts: what gpu_count has and nobody names, on the lowest indices that are free
create or replace temp table ghosts as
select
  m.c,
  m.node,
  m.s,
  m.e,
  i.i as device_index,
  m.pool,
  m.model,
  m.shared,
  m.ready,
  m.open_to_work
from moments as m
cross join lateral (select unnest(range(m.gpu_count)) as i) as i
where not list_contains(m.named, i.i)
qualify row_number() over (partition by m.c, m.node, m.s order by i.i) <= m.gpu_count - len(m.named)
