-- laid_rows: usage_hourly of the asked spans, of all that was laid out
create or replace temp table laid_rows as
with
overbooked as (
  select n.g, n.a, n.over_parts, x.address
  from named as n
  inner join segments as g on n.g = g.g
  inner join here as d on g.c = d.c and g.place = d.place and n.device_id = d.device_id and d.s <= g.s and g.e <= d.e
  inner join addresses as x
    on d.c = x.c and d.pool = x.pool and d.model = x.model and d.node = x.node and d.device_id = x.device_id
  where n.over_parts > 0
  union all by name
  select l.g, l.a, l.over_parts, x.address
  from laid as l
  inner join segments as g on l.g = g.g
  inner join (select distinct c, place, node, pool, model, s, e, a from unnamed_here) as u
    on g.c = u.c and g.place = u.place and l.a = u.a and u.s <= g.s and g.e <= u.e
  inner join addresses as x
    on u.c = x.c and u.pool = x.pool and u.model = x.model and u.node = x.node and x.device_id is null
  where l.over_parts > 0
  qualify row_number() over (partition by l.g, l.a order by u.s) = 1
),

lines as (
  select
    p.c,
    p.row_s,
    p.row_e,
    p.ruled_since,
    p.address,
    p.a,
    p.parts * (p.e - p.s) as capacity_pms,
    case when p.a is not null then p.parts * (p.e - p.s) else 0 end as held_pms,
    coalesce(p.parts * l.computing_ms, 0) as computing_pms,
    coalesce(p.parts * l.idle_ms, 0) as idle_pms,
    case when p.a is null and p.available and p.seen then p.parts * (p.e - p.s) else 0 end as unallocated_pms,
    case when p.a is null and not p.available then p.parts * (p.e - p.s) else 0 end as unavailable_pms,
    case when p.a is null and p.available and not p.seen then p.parts * (p.e - p.s) else 0 end as unobserved_pms,
    case when p.fit and not p.unstarted and not p.doubtful then coalesce(p.parts * l.confirmed_ms, 0) else 0 end
      as idle_confirmed_pms,
    coalesce(p.parts * l.stalled_ms, 0) as stalled_pms,
    case when p.a is not null and not p.fit then p.parts * (p.e - p.s - coalesce(l.computing_ms, 0)) else 0 end
      as faulted_pms,
    case
      when not coalesce(p.unstarted, false) then 0
      when p.fit then p.parts * (p.e - p.s)
      else p.parts * coalesce(l.computing_ms, 0)
    end as not_started_pms,
    coalesce(b.borrowed_pms, 0) as borrowed_pms,
    case when p.estimated then p.parts * (p.e - p.s) else 0 end as estimated_pms,
    0 as overbooked_pms,
    coalesce(l.own_j, 0) as energy_j,
    coalesce(p.parts * l.metered_ms, 0) as energy_known_pms,
    coalesce(p.parts * l.activity_permille_ms, 0) as activity_permille_pms,
    l.activity_peak_permille,
    l.power_peak_dw * p.device_parts // $gpu_parts as power_peak_dw,
    l.fb_used_peak_mib
  from pieces as p
  left join listened as l on p.q = l.q
  left join borrowed_pieces as b on p.q = b.q
  union all by name
  select
    g.c,
    r.row_s,
    r.row_e,
    r.ruled_since,
    o.address,
    o.a,
    o.over_parts * (least(g.e, r.e) - greatest(g.s, r.s)) as overbooked_pms
  from overbooked as o
  inner join segments as g on o.g = g.g
  inner join eras as r on g.c = r.c and g.s < r.e and r.s < g.e
  union all by name
  select x.c, x.row_s, r.row_e, r.ruled_since, x.address, x.a, x.energy_j
  from shared_energy as x
  inner join eras as r on x.c = r.c and x.row_s = r.s
),

summed as (
  select
    c,
    row_s,
    any_value(row_e) as row_e,
    any_value(ruled_since) as ruled_since,
    address,
    a,
    coalesce(sum(capacity_pms), 0)::bigint as capacity_pms,
    coalesce(sum(held_pms), 0)::bigint as held_pms,
    coalesce(sum(computing_pms), 0)::bigint as computing_pms,
    coalesce(sum(idle_pms), 0)::bigint as idle_pms,
    coalesce(sum(held_pms) - sum(computing_pms) - sum(idle_pms), 0)::bigint as unknown_pms,
    coalesce(sum(unallocated_pms), 0)::bigint as unallocated_pms,
    coalesce(sum(unavailable_pms), 0)::bigint as unavailable_pms,
    coalesce(sum(unobserved_pms), 0)::bigint as unobserved_pms,
    coalesce(sum(idle_confirmed_pms), 0)::bigint as idle_confirmed_pms,
    coalesce(sum(stalled_pms), 0)::bigint as stalled_pms,
    coalesce(sum(faulted_pms), 0)::bigint as faulted_pms,
    coalesce(sum(not_started_pms), 0)::bigint as not_started_pms,
    coalesce(sum(borrowed_pms), 0)::bigint as borrowed_pms,
    coalesce(sum(estimated_pms), 0)::bigint as estimated_pms,
    coalesce(sum(overbooked_pms), 0)::bigint as overbooked_pms,
    coalesce(sum(energy_j), 0)::bigint as energy_j,
    coalesce(sum(energy_known_pms), 0)::bigint as energy_known_pms,
    coalesce(sum(activity_permille_pms), 0)::bigint as activity_permille_pms,
    max(activity_peak_permille)::integer as activity_peak_permille,
    max(power_peak_dw)::integer as power_peak_dw,
    max(fb_used_peak_mib)::integer as fb_used_peak_mib
  from lines
  group by c, row_s, address, a
)

select
  k.cluster,
  s.row_s as row_start_at,
  s.row_e as row_end_at,
  x.pool,
  x.model,
  x.node,
  x.device_id,
  s.a as allocation_id,
  a.workload_id,
  t.team,
  s.* exclude (c, row_s, row_e, ruled_since, address, a)
from summed as s
inner join asked_clusters as k on s.c = k.c
inner join addresses as x on s.address = x.address
left join told_allocations as a on s.c = a.c and s.a = a.a
left join allocation_teams as t on s.c = t.c and s.a = t.a and s.ruled_since = t.ruled_since
