-- sources: how far each source is complete, when it was heard last and how far behind it was then, its interval, its open gaps
with
open_gaps as (
  select
    cluster,
    source,
    covers,
    count(*) as open_gaps,
    min(start_at) filter (where coalesce(node, '') = '') as away_since_at
  from gaps
  where end_at is null
  group by cluster, source, covers
),

marks as (
  select
    cluster,
    source,
    covers,
    max(complete_until_at) as complete_until_at,
    max(recorded_at) as told_at
  from watermarks
  group by cluster, source, covers
),

told as (
  select
    coalesce(m.cluster, g.cluster) as cluster,
    coalesce(m.source, g.source) as source,
    coalesce(m.covers, g.covers) as covers,
    m.complete_until_at,
    -- a written gap moves the watermark on: what is in it was not heard
    least(m.complete_until_at, g.away_since_at) as heard_at,
    m.told_at,
    coalesce(g.open_gaps, 0) as open_gaps
  from marks as m
  full outer join open_gaps as g on m.cluster = g.cluster and m.source = g.source and m.covers = g.covers
),

sampled as (
  select
    cluster,
    source,
    'telemetry' as covers,
    max(sampled_at) as sampled_at
  from samples
  where sampled_at >= make_timestamptz($now_ms::bigint * 1000) - interval 1 day
  group by cluster, source
),

intervals as (
  select
    cluster,
    source,
    max(interval_ms) as interval_ms
  from targets
  where end_at is null
  group by cluster, source
),

-- by how much an API server's clock is ahead of the collector's: told when they part, and once an hour while they are apart
clocks as (
  select
    cluster,
    'kubernetes' as source,
    arg_max(try_cast(evidence ->> '$.ahead_ms' as bigint), end_at) as clock_ahead_ms
  from findings
  where kind = 'clocks apart' and end_at >= make_timestamptz($now_ms::bigint * 1000) - interval 70 minute
  group by cluster
)

select
  t.cluster,
  t.source,
  t.covers,
  epoch_ms(coalesce(s.sampled_at, t.heard_at)) as heard_ms,
  epoch_ms(t.complete_until_at) as complete_until_ms,
  case
    when t.source = 'kubernetes' and t.covers in ('holders', 'quota')
      then epoch_ms(t.told_at) + coalesce(k.clock_ahead_ms, 0) - epoch_ms(t.heard_at)
  end as watch_lag_ms,
  coalesce(i.interval_ms, 0) as interval_ms,
  coalesce(k.clock_ahead_ms, 0) as clock_ahead_ms,
  t.open_gaps
from told as t
left join sampled as s on t.cluster = s.cluster and t.source = s.source and t.covers = s.covers
left join intervals as i on t.cluster = i.cluster and t.source = i.source
left join clocks as k on t.cluster = k.cluster and t.source = k.source
order by t.cluster, t.covers, t.source
