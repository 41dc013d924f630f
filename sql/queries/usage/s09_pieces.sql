-- pieces: the layout cut at an allocation's start and sure span, where another source is believed, at gaps, and at eras:
-- within a piece nothing changes but telemetry
create or replace temp table pieces as
with
inner_points as (
  select l.p, unnest([a.started, a.sure_s, a.sure_e]) as t
  from layout as l
  inner join told_allocations as a on l.c = a.c and l.a = a.a
  where a.started < l.e or a.sure_s > l.s or a.sure_e < l.e
  union
  select l.p, unnest([b.s, b.e]) as t
  from layout as l
  inner join believed as b on l.c = b.c and b.s < l.e and l.s < b.e
  where b.s > l.s or b.e < l.e
  union
  select l.p, unnest([g.s, g.e]) as t
  from layout as l
  inner join node_gaps as g on l.c = g.c and l.node = g.node and g.s < l.e and l.s < g.e
),

points as (
  select p, s as t from layout
  union
  select p, e as t from layout
  union
  select i.p, i.t
  from inner_points as i
  inner join layout as l on i.p = l.p and i.t > l.s and i.t < l.e
),

spans as (
  select p, t as s, lead(t) over (partition by p order by t) as e
  from points
),

silences as (
  select
    x.p,
    x.s,
    bit_or(case when g.covers = 'telemetry' then 1::bigint << n.number else 0 end) as silent,
    bool_or(g.covers = 'holders' and g.source = b.source) as unseen
  from spans as x
  inner join layout as l on x.p = l.p
  inner join node_gaps as g on l.c = g.c and l.node = g.node and g.s <= x.s and x.e <= g.e
  left join source_numbers as n on g.source = n.source
  left join believed as b on l.c = b.c and b.s <= x.s and x.s < b.e
  where x.e is not null
  group by x.p, x.s
)

select
  row_number() over () as q,
  l.c,
  greatest(x.s, r.s) as s,
  least(x.e, r.e) as e,
  r.s as era_s,
  r.row_s,
  r.row_e,
  r.ruled_since,
  l.device_id,
  l.a,
  l.parts,
  l.named,
  l.doubtful,
  l.address,
  l.node,
  l.pool,
  l.model,
  l.device_index,
  l.gpu_uuid,
  l.gi_id,
  l.device_parts,
  l.fit,
  l.available,
  coalesce(n.silent, 0) as silent,
  b.source is not null and not coalesce(n.unseen, false) as seen,
  x.s < a.started as unstarted,
  x.s < a.sure_s or x.s >= a.sure_e as estimated
from spans as x
inner join layout as l on x.p = l.p
inner join eras as r on l.c = r.c and r.s < x.e and x.s < r.e
left join silences as n on x.p = n.p and x.s = n.s
left join believed as b on l.c = b.c and b.s <= x.s and x.s < b.e
left join told_allocations as a on l.c = a.c and l.a = a.a
where x.e is not null
