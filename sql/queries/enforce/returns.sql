-- returns: what became of each would-be victim: when it computed again, and what it held and was known of until each horizon
with
after_it as (
  select
    v.number,
    v.at_ms,
    greatest(epoch_ms(u.row_start_at), v.at_ms) as s,
    epoch_ms(u.row_end_at) as e,
    epoch_ms(u.row_end_at) - epoch_ms(u.row_start_at) as span_ms,
    u.held_pms,
    u.computing_pms,
    u.idle_pms,
    u.unknown_pms
  from victims as v
  inner join usage_hourly as u
    on
      v.cluster = u.cluster
      and v.workload_id = u.workload_id
      and u.row_end_at > make_timestamptz(v.at_ms * 1000)
      and u.row_start_at < make_timestamptz(v.at_ms * 1000) + interval 30 day
  where u.allocation_id is not null
),

back as (
  select
    number,
    min(s) filter (where computing_pms > 0) as back_ms
  from after_it
  group by number
),

summed as (
  select
    a.number,
    b.back_ms,
    coalesce(
      sum(a.idle_pms::hugeint * (a.e - a.s) // a.span_ms) filter (where b.back_ms is null or a.s < b.back_ms), 0
    )::bigint as given_pms,
    max(a.e) filter (where a.held_pms > 0 and a.s < a.at_ms + 2 * 3600000) as until_2_ms,
    coalesce(sum(a.held_pms) filter (where a.s < a.at_ms + 2 * 3600000), 0)::bigint as held_2_pms,
    coalesce(sum(a.unknown_pms) filter (where a.s < a.at_ms + 2 * 3600000), 0)::bigint as unknown_2_pms,
    max(a.e) filter (where a.held_pms > 0 and a.s < a.at_ms + 8 * 3600000) as until_8_ms,
    coalesce(sum(a.held_pms) filter (where a.s < a.at_ms + 8 * 3600000), 0)::bigint as held_8_pms,
    coalesce(sum(a.unknown_pms) filter (where a.s < a.at_ms + 8 * 3600000), 0)::bigint as unknown_8_pms,
    max(a.e) filter (where a.held_pms > 0 and a.s < a.at_ms + 24 * 3600000) as until_24_ms,
    coalesce(sum(a.held_pms) filter (where a.s < a.at_ms + 24 * 3600000), 0)::bigint as held_24_pms,
    coalesce(sum(a.unknown_pms) filter (where a.s < a.at_ms + 24 * 3600000), 0)::bigint as unknown_24_pms
  from after_it as a
  inner join back as b on a.number = b.number
  group by a.number, b.back_ms
),

rolled as (
  select
    cluster,
    max(epoch_ms(rolled_until_at)) as rolled_until_ms
  from rollup_marks
  group by cluster
)

select
  v.number,
  s.back_ms,
  coalesce(s.given_pms, 0) as given_pms,
  coalesce(s.until_2_ms, 0) as until_2_ms,
  coalesce(s.held_2_pms, 0) as held_2_pms,
  coalesce(s.unknown_2_pms, 0) as unknown_2_pms,
  coalesce(s.until_8_ms, 0) as until_8_ms,
  coalesce(s.held_8_pms, 0) as held_8_pms,
  coalesce(s.unknown_8_pms, 0) as unknown_8_pms,
  coalesce(s.until_24_ms, 0) as until_24_ms,
  coalesce(s.held_24_pms, 0) as held_24_pms,
  coalesce(s.unknown_24_pms, 0) as unknown_24_pms,
  coalesce(r.rolled_until_ms, 0) as rolled_until_ms
from victims as v
left join summed as s on v.number = s.number
left join rolled as r on v.cluster = r.cluster
order by v.number
