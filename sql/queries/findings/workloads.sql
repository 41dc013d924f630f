-- workloads: each workload of which some device is idle or stalled over its window, or was never started; with its devices, and
-- how much of what it held since it was busy last is known idle
with
busy_pools as (
  select distinct p.c, p.pool
  from stretches as s
  inner join pieces as p on s.q = p.q
  where s.busy and s.e > $at_ms - $longest_window_ms
),

disputed as (
  select distinct h.c, h.workload_id
  from holders as h
  inner join findings as f
    on
      h.cluster = f.cluster
      and f.subject = h.namespace || '/' || h.pod
      and f.kind = 'sources disagree'
      and coalesce(f.state, 'open') = 'open'
      and epoch_ms(f.start_at) < $at_ms
      and coalesce(epoch_ms(f.end_at), $at_ms) > $at_ms - h.window_ms
),

grouped as (
  select
    c,
    any_value(cluster) as cluster,
    workload_id,
    any_value(kind) as kind,
    any_value(workload) as workload,
    any_value(workload_uid) as workload_uid,
    any_value(namespace) as namespace,
    any_value(team) as team,
    arg_max(pool, parts) as pool,
    arg_max(model, parts) as model,
    any_value(window_ms) as window_ms,
    sum(parts)::bigint as parts,
    count(*) as devices,
    count(*) filter (where quiet) as quiet,
    count(*) filter (where stalls) as stalled,
    count(*) filter (where unstarted) as unstarted,
    sum(parts) filter (where quiet)::bigint as quiet_parts,
    min(bound_ms) filter (where unstarted) as unstarted_since_ms,
    max(since_ms) as since_ms,
    max(since_ms) filter (where quiet) as quiet_since_ms,
    max(coalesce(started_ms, bound_ms)) as started_ms,
    min(known_ms) as least_known_ms,
    bool_and(not doubtful) as sure,
    bool_and(fit) as fit,
    list(
      struct_pack(
        device := place, pod := namespace || '/' || pod, parts := parts, named := named, known_ms := known_ms,
        busy_ms := busy_ms, confirmed_ms := confirmed_ms, stalled_ms := stalled_ms, sampled_ms := sampled_ms,
        interval_ms := interval_ms, signal := signal, quiet := quiet, unstarted := unstarted, since_ms := since_ms
      )
      order by place, pod
    ) as each_device
  from judged
  group by c, workload_id
  having quiet > 0 or stalled > 0 or unstarted > 0
),

since as (
  select
    g.c,
    g.workload_id,
    j.a,
    j.device_id,
    case when g.quiet = g.devices then g.since_ms else g.quiet_since_ms end as low
  from grouped as g
  inner join judged as j on g.c = j.c and g.workload_id = j.workload_id
  where g.quiet = g.devices or j.quiet
),

amounts as (
  select
    s.c,
    s.workload_id,
    sum(p.parts * greatest(0, p.e - greatest(p.s, s.low))) as held_pms,
    sum(p.parts * coalesce(x.idle_ms, 0)) as idle_pms
  from since as s
  inner join pieces as p on s.c = p.c and s.a = p.a and s.device_id = p.device_id
  left join (
    select h.q, m.low, sum(greatest(0, h.e - greatest(h.s, m.low))) filter (where not h.busy) as idle_ms
    from stretches as h
    inner join pieces as d on h.q = d.q
    inner join since as m on d.c = m.c and d.a = m.a and d.device_id = m.device_id
    group by h.q, m.low
  ) as x
    on p.q = x.q and s.low = x.low
  group by s.c, s.workload_id
  union all by name
  select
    s.c,
    s.workload_id,
    sum(u.held_pms) as held_pms,
    sum(u.idle_pms) as idle_pms
  from since as s
  inner join asked_clusters as k on s.c = k.c
  inner join usage_hourly as u on k.cluster = u.cluster and s.a = u.allocation_id and s.device_id = u.device_id
  where epoch_ms(u.row_start_at) >= s.low and u.row_end_at <= make_timestamptz($from_ms::bigint * 1000)
  group by s.c, s.workload_id
),

summed as (
  select c, workload_id, sum(held_pms)::bigint as held_pms, sum(idle_pms)::bigint as idle_pms
  from amounts
  group by c, workload_id
)

select
  g.* exclude (c),
  coalesce(s.held_pms, 0) as held_pms,
  coalesce(s.idle_pms, 0) as idle_pms,
  b.pool is not null as pool_computes,
  d.workload_id is not null as disputed
from grouped as g
left join summed as s on g.c = s.c and g.workload_id = s.workload_id
left join busy_pools as b on g.c = b.c and g.pool = b.pool
left join disputed as d on g.c = d.c and g.workload_id = d.workload_id
order by g.cluster, g.namespace, g.workload, g.workload_id
