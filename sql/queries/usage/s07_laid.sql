-- laid: what nobody names goes on the free parts of its node, healthy devices first, then by index
create or replace temp table laid as
with
free as (
  select
    g.g,
    d.device_id,
    d.healthy,
    d.device_index,
    any_value(d.parts) - coalesce(sum(n.parts), 0)::bigint as parts
  from segments as g
  inner join here as d on g.c = d.c and g.place = d.place and d.s <= g.s and g.e <= d.e
  left join named as n on g.g = n.g and d.device_id = n.device_id
  where g.place.device_id = 0 and d.kind <> 'uncarved'
  group by g.g, d.device_id, d.healthy, d.device_index
),

room as (
  select
    *,
    sum(parts) over (partition by g order by healthy desc, device_index, device_id rows unbounded preceding)::bigint as top
  from free
),

wanted as (
  select
    g.g,
    u.a,
    u.bound,
    sum(u.parts)::bigint as parts
  from segments as g
  inner join unnamed_here as u on g.c = u.c and g.place = u.place and u.s <= g.s and g.e <= u.e
  group by g.g, u.a, u.bound
),

demand as (
  select *, sum(parts) over (partition by g order by bound, a rows unbounded preceding)::bigint as top
  from wanted
),

given as (
  select
    d.g,
    r.device_id,
    d.a,
    least(r.top, d.top) - greatest(r.top - r.parts, d.top - d.parts) as parts
  from demand as d
  inner join room as r on d.g = r.g and r.top - r.parts < d.top and d.top - d.parts < r.top
),

short as (
  select d.g, d.a, d.parts - coalesce(sum(x.parts), 0)::bigint as over_parts
  from demand as d
  left join given as x on d.g = x.g and d.a = x.a
  group by d.g, d.a, d.parts
)

select g, device_id, a, parts, 0 as over_parts from given
union all by name
select g, null as device_id, a, 0 as parts, over_parts from short
where over_parts > 0
