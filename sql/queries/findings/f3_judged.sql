-- judged: each held device over its window: known, busy, idle by two signals, stalled; and when it was busy last
create or replace temp table judged as
with
parts_of_pod as (
  select h.c, h.a, h.device_id, p.q, $at_ms - any_value(h.window_ms) as low
  from holders as h
  inner join pieces as p on h.c = p.c and h.a = p.a and h.device_id = p.device_id and p.named
  group by all
),

heard as (
  select
    p.c,
    p.a,
    p.device_id,
    s.*,
    greatest(0, s.e - greatest(s.s, p.low)) as within_ms
  from parts_of_pod as p
  inner join stretches as s on p.q = s.q
),

said as (
  select
    c,
    a,
    device_id,
    sum(within_ms) as known_ms,
    coalesce(sum(within_ms) filter (where busy), 0) as busy_ms,
    coalesce(sum(least(within_ms, metered_ms)) filter (where weak and not busy), 0) as confirmed_ms,
    coalesce(sum(least(within_ms, metered_ms)) filter (where weak and hung), 0) as stalled_ms,
    max(e) filter (where busy) as busy_until_ms,
    max(t) as sampled_ms,
    median(spacing_ms) as interval_ms,
    arg_max(signal, t) as signal
  from heard
  group by c, a, device_id
),

-- hours that are rolled up, from before what was listened to just now
hours as (
  select
    h.c,
    h.a,
    h.device_id,
    epoch_ms(u.row_start_at) as s,
    epoch_ms(u.row_end_at) as e,
    u.computing_pms > 0 as busy,
    lag(epoch_ms(u.row_end_at)) over (partition by h.c, h.a, h.device_id order by u.row_start_at) as before_ms
  from holders as h
  inner join usage_hourly as u on h.cluster = u.cluster and h.a = u.allocation_id and h.device_id = u.device_id
  where u.row_end_at <= make_timestamptz($from_ms::bigint * 1000)
),

-- what nobody has looked at is not called idle: before it, and without a break
earlier as (
  select
    c,
    a,
    device_id,
    case
      when max(e) < $from_ms then $from_ms
      else max(case when busy then e when before_ms is null or before_ms < s then s else 0 end)
    end as quiet_from_ms
  from hours
  group by c, a, device_id
)

select
  h.*,
  coalesce(s.known_ms, 0) as known_ms,
  coalesce(s.busy_ms, 0) as busy_ms,
  coalesce(s.confirmed_ms, 0) as confirmed_ms,
  coalesce(s.stalled_ms, 0) as stalled_ms,
  s.sampled_ms,
  s.interval_ms::bigint as interval_ms,
  coalesce(s.signal, '') as signal,
  greatest(
    coalesce(h.started_ms, h.bound_ms), coalesce(s.busy_until_ms, 0), coalesce(e.quiet_from_ms, $from_ms::bigint)
  ) as since_ms,
  h.named and not h.unstarted and s.known_ms * 20 >= h.window_ms * 19 and s.busy_ms = 0 as quiet,
  h.named and s.stalled_ms * 20 >= h.window_ms * 19 as stalls
from holders as h
left join said as s on h.c = s.c and h.a = s.a and h.device_id = s.device_id
left join earlier as e on h.c = e.c and h.a = e.a and h.device_id = e.device_id
