-- a GPU that several series speak of, or that is several devices: at each millisecond the series of a device are merged
-- (highest value), of the source that counts; energy is the GPU's, so each of its devices hears it at each of its milliseconds
insert into voices
with
gpus as (
  select distinct gpu
  from units
  where c = $c and not simple
),

speakers as (
  select x.gpu, x.gi_id, x.series_id, x.node, x.source, x.rank, n.number as source_number, x.s, x.e
  from told_series as x
  semi join gpus as g on x.gpu = g.gpu
  inner join source_numbers as n on x.source = n.source
),

silences as (
  select distinct x.series_id, g.s, g.e
  from speakers as x
  inner join node_gaps as g on g.c = $c and x.node = g.node and x.source = g.source and g.covers = 'telemetry'
),

heard as (
  select
    x.gpu,
    x.gi_id,
    epoch_ms(s.sampled_at) as t,
    s.hold_ms,
    x.source_number,
    z.series_id is null as speaks,
    s.gr_engine_permille as gr_engine,
    s.gpu_util_permille as gpu_util,
    s.sm_permille as sm,
    s.tensor_permille as tensor,
    s.dram_permille as dram,
    s.mem_copy_permille as mem_copy,
    s.power_dw,
    s.fb_used_mib,
    s.energy_j
  from samples as s
  inner join speakers as x
    on s.series_id = x.series_id and epoch_ms(s.sampled_at) >= x.s and epoch_ms(s.sampled_at) < x.e
  left join silences as z
    on s.series_id = z.series_id and epoch_ms(s.sampled_at) >= z.s and epoch_ms(s.sampled_at) < z.e
  where
    s.cluster = $cluster and s.sampled_at >= $low_at and s.sampled_at < $high_at
    and not exists (
      select 1
      from speakers as r
      where
        r.gpu = x.gpu and (r.rank, r.source) < (x.rank, x.source)
        and r.s <= epoch_ms(s.sampled_at) and epoch_ms(s.sampled_at) < r.e
    )
),

by_device as (
  select
    gpu,
    gi_id,
    t,
    struct_pack(
      until := t + max(hold_ms),
      source_number := any_value(source_number),
      gr_engine := max(gr_engine) filter (where speaks),
      gpu_util := max(gpu_util) filter (where speaks),
      sm := max(sm) filter (where speaks),
      tensor := max(tensor) filter (where speaks),
      dram := max(dram) filter (where speaks),
      mem_copy := max(mem_copy) filter (where speaks),
      power_dw := max(power_dw) filter (where speaks),
      fb_used_mib := max(fb_used_mib) filter (where speaks)
    ) as said
  from heard
  group by gpu, gi_id, t
),

by_gpu as (
  select
    gpu,
    t,
    max(hold_ms) as hold_ms,
    max(energy_j) filter (where speaks) as energy_j
  from heard
  group by gpu, t
),

grid as (
  select u.unit, g.t, g.hold_ms, g.energy_j, d.said
  from units as u
  inner join by_gpu as g on u.gpu = g.gpu
  left join by_device as d on u.gpu = d.gpu and u.gi_id = d.gi_id and g.t = d.t
  where u.c = $c and not u.simple
),

followed as (
  select
    unit,
    t,
    last_value(said ignore nulls) over (partition by unit order by t rows unbounded preceding) as said,
    lead(t) over w as next_t,
    lead(energy_j) over w - energy_j as drawn_j,
    lead(hold_ms) over w as next_hold_ms
  from grid
  window w as (partition by unit order by t)
)

select
  unit,
  t,
  next_t,
  greatest(t, least(next_t, coalesce(said.until, t))) as quiet_at,
  case
    when next_t - t <= next_hold_ms and drawn_j >= 0 and drawn_j * 1000 <= $most_watts * (next_t - t) then next_t
    else t
  end as metered_until,
  drawn_j,
  said.source_number,
  said.gr_engine,
  said.gpu_util,
  said.sm,
  said.tensor,
  said.dram,
  said.mem_copy,
  said.power_dw,
  said.fb_used_mib
from followed
