-- listened: what telemetry says in each piece: milliseconds by state, activity, peaks, the energy that is the piece's alone, and
-- the counter's differences that are not. Where one series speaks of a GPU the next sample is the series' own; a silenced sample
-- ends the one before and says nothing. What the other GPUs say is in voices. Nothing speaks for longer than $longest_hold_ms
insert into listened
with
speakers as (
  select u.unit, x.series_id, x.node, x.source, n.number as source_number, x.s, x.e
  from units as u
  inner join told_series as x on u.c = x.c and u.gpu = x.gpu
  inner join source_numbers as n on x.source = n.source
  where u.c = $c and u.simple
),

silences as (
  select x.series_id, g.s, g.e
  from speakers as x
  inner join node_gaps as g on g.c = $c and x.node = g.node and x.source = g.source and g.covers = 'telemetry'
),

heard as (
  select
    x.unit,
    epoch_ms(s.sampled_at) as t,
    s.hold_ms,
    x.source_number,
    s.gr_engine_permille as gr_engine,
    s.gpu_util_permille as gpu_util,
    s.sm_permille as sm,
    s.tensor_permille as tensor,
    s.dram_permille as dram,
    s.mem_copy_permille as mem_copy,
    s.power_dw,
    s.fb_used_mib,
    case when z.series_id is null then s.energy_j end as energy_j,
    z.series_id is not null as silenced
  from samples as s
  inner join speakers as x
    on s.series_id = x.series_id and epoch_ms(s.sampled_at) >= x.s and epoch_ms(s.sampled_at) < x.e
  left join silences as z
    on s.series_id = z.series_id and epoch_ms(s.sampled_at) >= z.s and epoch_ms(s.sampled_at) < z.e
  where s.cluster = $cluster and s.sampled_at >= $low_at and s.sampled_at < $high_at
),

followed as (
  select
    *,
    lead(t) over w as next_t,
    lead(energy_j) over w - energy_j as drawn_j,
    lead(hold_ms) over w as next_hold_ms
  from heard
  window w as (partition by unit order by t)
),

simple_voices as (
  select
    unit,
    t,
    next_t,
    case when silenced then t else least(next_t, t + hold_ms) end as quiet_at,
    case
      when next_t - t <= next_hold_ms and drawn_j >= 0 and drawn_j * 1000 <= $most_watts * (next_t - t) then next_t
      else t
    end as metered_until,
    drawn_j,
    source_number,
    gr_engine,
    gpu_util,
    sm,
    tensor,
    dram,
    mem_copy,
    power_dw,
    fb_used_mib
  from followed
),

spoken as (
  select *, (t // $hour_ms)::integer as hour
  from simple_voices
  union all by name
  select v.*, (v.t // $hour_ms)::integer as hour
  from voices as v
  inner join units as u on v.unit = u.unit and u.c = $c
),

attentive as (
  select *, unnest(range(greatest(0, s - $longest_hold_ms) // $hour_ms, hour + 1))::integer as voice_hour
  from ears
),

met as (
  select
    p.q,
    p.held,
    case
      when p.held and p.silent & (1::bigint << v.source_number) = 0
        then greatest(0, least(v.quiet_at, p.e) - greatest(v.t, p.s))
      else 0
    end as heard_ms,
    greatest(0, least(v.metered_until, p.e) - greatest(v.t, p.s)) as metered_ms,
    v.gr_engine >= p.gr_engine_floor
    or v.gpu_util >= p.gpu_util_floor
    or v.sm >= p.sm_floor
    or v.tensor >= p.tensor_floor
    or v.dram >= p.dram_floor
    or v.mem_copy >= p.mem_copy_floor as busy,
    coalesce(v.gr_engine, v.gpu_util, v.sm, v.tensor, v.dram, v.mem_copy) is not null as known,
    v.gpu_util >= p.gpu_util_floor and v.tensor < p.tensor_floor and v.dram < p.dram_floor as hung,
    v.drawn_j * 10000 < p.power_floor * (v.metered_until - v.t) as weak,
    coalesce(v.gr_engine, v.sm, v.gpu_util) as activity,
    v.power_dw,
    v.fb_used_mib,
    v.t,
    v.metered_until,
    v.drawn_j,
    p.parts * (least(v.metered_until, p.e) - greatest(v.t, p.s)) as pms,
    not p.fussy and v.t >= p.s and v.metered_until <= p.e as own
  from spoken as v
  inner join attentive as p on v.unit = p.unit and v.hour = p.voice_hour and v.t < p.e and greatest(v.quiet_at, v.metered_until) > p.s
)

select
  q,
  coalesce(sum(heard_ms) filter (where busy), 0)::bigint as computing_ms,
  coalesce(sum(heard_ms) filter (where known and busy is not true), 0)::bigint as idle_ms,
  coalesce(sum(least(heard_ms, metered_ms)) filter (where weak and known and busy is not true), 0)::bigint as confirmed_ms,
  coalesce(sum(least(heard_ms, metered_ms)) filter (where weak and hung), 0)::bigint as stalled_ms,
  coalesce(sum(metered_ms), 0)::bigint as metered_ms,
  coalesce(sum(activity * heard_ms), 0)::bigint as activity_permille_ms,
  max(activity) filter (where heard_ms > 0) as activity_peak_permille,
  max(power_dw) filter (where heard_ms > 0) as power_peak_dw,
  max(fb_used_mib) filter (where heard_ms > 0) as fb_used_peak_mib,
  coalesce(sum(drawn_j) filter (where own and metered_ms > 0), 0)::bigint as own_j,
  list(struct_pack(t := t, metered_until := metered_until, drawn_j := drawn_j, pms := pms)) filter (where not own and pms > 0)
    as shared
from met
group by q
