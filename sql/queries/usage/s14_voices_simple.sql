-- a GPU that one series speaks of: the next sample is the series' own. A silenced sample ends the one before and says nothing
insert into voices
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
)

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
