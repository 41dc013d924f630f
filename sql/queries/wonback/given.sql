-- given: of each workload that was stopped, the time ($from_ms to $until_ms) that others held on the GPUs it had held, by their team
with
ended as (
  select
    cluster,
    intent,
    min(told_at) filter (where result = 'done') as stopped_at,
    min(told_at) filter (where result = 'undone') as undone_at
  from deeds
  where phase = 'outcome' and ($cluster is null or cluster = $cluster)
  group by cluster, intent
),

started as (
  select
    i.cluster,
    i.object_uid,
    i.number,
    e.stopped_at as back_at
  from deeds as i
  inner join ended as e on i.cluster = e.cluster and i.row_hash = e.intent
  where i.phase = 'intent' and list_contains(['start', 'restore'], i.act) and e.stopped_at is not null
),

stops as (
  select
    i.cluster,
    i.number,
    i.kind,
    i.namespace,
    i.name,
    i.object_uid,
    i.team,
    i.pool,
    i.cause,
    i.frees_parts,
    i.told_at as meant_at,
    e.stopped_at,
    e.undone_at,
    min(s.back_at) as started_at
  from deeds as i
  inner join ended as e on i.cluster = e.cluster and i.row_hash = e.intent
  left join started as s on i.cluster = s.cluster and i.object_uid = s.object_uid and i.number < s.number
  where
    i.phase = 'intent' and i.act = 'stop' and e.stopped_at is not null
    and e.stopped_at < make_timestamptz($until_ms::bigint * 1000)
    and e.stopped_at > make_timestamptz(($from_ms::bigint - $longest_ms::bigint) * 1000)
  group by all
),

spans as (
  select
    *,
    least(undone_at, started_at) as back_at,
    greatest(meant_at, make_timestamptz($from_ms::bigint * 1000)) as begins_at,
    least(
      coalesce(undone_at, 'infinity'::timestamptz),
      coalesce(started_at, 'infinity'::timestamptz),
      make_timestamptz($until_ms::bigint * 1000),
      stopped_at + to_milliseconds($longest_ms::bigint)
    ) as ends_at
  from stops
),

had as (
  select
    s.cluster,
    s.number,
    h.device_id,
    max(h.parts) as parts
  from spans as s
  inner join workloads as w on s.cluster = w.cluster and s.object_uid = w.uid
  inner join allocations as a on w.cluster = a.cluster and w.workload_id = a.workload_id
  inner join holdings as h on a.cluster = h.cluster and a.allocation_id = h.allocation_id
  where h.start_at <= s.meant_at and (h.end_at is null or h.end_at > s.meant_at - interval 5 second) -- two clocks
  group by all
),

teams as (
  select
    cluster,
    allocation_id,
    max(team) as team
  from usage_hourly
  where
    allocation_id is not null
    and row_start_at < make_timestamptz($until_ms::bigint * 1000)
    and row_end_at > make_timestamptz(($from_ms::bigint - $longest_ms::bigint) * 1000)
  group by cluster, allocation_id
),

held as (
  select
    d.cluster,
    d.number,
    d.device_id,
    t.team as receiver,
    sum(
      least(h.parts, d.parts)::hugeint
      * greatest(0, epoch_ms(least(h.end_at, s.ends_at)) - epoch_ms(greatest(h.start_at, s.begins_at)))
    ) as held_pms,
    any_value(d.parts::hugeint * greatest(0, epoch_ms(s.ends_at) - epoch_ms(s.begins_at))) as most_pms
  from had as d
  inner join spans as s on d.cluster = s.cluster and d.number = s.number
  inner join holdings as h
    on
      d.cluster = h.cluster
      and d.device_id = h.device_id
      and s.meant_at - interval 5 second < h.start_at
      and s.ends_at > h.start_at
  inner join allocations as a on h.cluster = a.cluster and h.allocation_id = a.allocation_id
  left join workloads as w on a.cluster = w.cluster and a.workload_id = w.workload_id
  left join teams as t on h.cluster = t.cluster and h.allocation_id = t.allocation_id
  where w.uid is distinct from s.object_uid
  group by all
),

-- never more than the device could give, where its parts are held by several
bounded as (
  select
    cluster,
    number,
    receiver,
    sum(held_pms * least(most_pms, whole_pms) // greatest(whole_pms, 1)) as given_pms
  from (
    select
      *,
      sum(held_pms) over (partition by cluster, number, device_id) as whole_pms
    from held
  ) as h
  group by cluster, number, receiver
)

select
  s.cluster,
  s.number,
  s.kind,
  s.namespace,
  s.name,
  s.team,
  s.pool,
  s.cause,
  s.frees_parts,
  epoch_ms(s.stopped_at) as stopped_ms,
  epoch_ms(s.back_at) as back_ms,
  b.receiver,
  coalesce(b.given_pms, 0)::bigint as given_pms
from spans as s
left join bounded as b on s.cluster = b.cluster and s.number = b.number
where s.ends_at > s.begins_at
order by s.stopped_at, s.cluster, s.number, b.receiver
