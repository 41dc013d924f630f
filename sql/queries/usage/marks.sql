-- marks: how far each cluster is rolled up and may be: its last mark, the least of its sources' watermarks, its first node
with
watermark as (
  select cluster, source, covers, max(complete_until_at) as complete_until_at
  from watermarks
  group by cluster, source, covers
),

-- history has an end; nobody waits for it where what is collected live has passed it
followed as (
  select h.cluster, h.source, h.covers
  from watermark as h
  inner join watermark as l
    on h.cluster = l.cluster and h.covers = l.covers and l.complete_until_at > h.complete_until_at
  where h.source in ('prometheus', 'kube-state-metrics')
),

complete as (
  select
    w.cluster,
    epoch_ms(min(w.complete_until_at)) as complete_ms,
    arg_min(w.source || ' (' || w.covers || ')', w.complete_until_at) as slowest
  from watermark as w
  anti join followed as f on w.cluster = f.cluster and w.source = f.source and w.covers = f.covers
  group by w.cluster
),

began as (
  select cluster, epoch_ms(min(start_at)) // $hour_ms * $hour_ms as from_ms
  from nodes
  group by cluster
),

rolled as (
  select
    cluster,
    max(snapshot_id) as snapshot_id,
    arg_max(epoch_ms(rolled_from_at), (snapshot_id, rolled_until_at)) as rolled_from_ms,
    epoch_ms(max(rolled_until_at)) as rolled_until_ms,
    max(longest_hold_ms) as longest_hold_ms,
    arg_max(time_zone, (snapshot_id, rolled_until_at)) as time_zone
  from rollup_marks
  group by cluster
)

select
  coalesce(b.cluster, r.cluster) as cluster,
  coalesce(b.from_ms, $forever) as from_ms,
  c.complete_ms,
  c.slowest,
  r.snapshot_id,
  r.rolled_from_ms,
  r.rolled_until_ms,
  r.longest_hold_ms,
  r.time_zone
from began as b
full outer join rolled as r on b.cluster = r.cluster
left join complete as c on coalesce(b.cluster, r.cluster) = c.cluster
order by cluster
