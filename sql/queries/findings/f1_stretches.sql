-- stretches: what telemetry says of the held pieces, voice by voice: as in the roll-up, but each with its own span
create or replace temp table stretches as
select
  p.q,
  v.t,
  v.next_t - v.t as spacing_ms,
  greatest(v.t, p.s) as s,
  least(v.quiet_at, p.e) as e,
  greatest(0, least(v.quiet_at, v.metered_until, p.e) - greatest(v.t, p.s)) as metered_ms,
  coalesce(
    v.gr_engine >= p.gr_engine_floor
    or v.gpu_util >= p.gpu_util_floor
    or v.sm >= p.sm_floor
    or v.tensor >= p.tensor_floor
    or v.dram >= p.dram_floor
    or v.mem_copy >= p.mem_copy_floor,
    false
  ) as busy,
  coalesce(v.gpu_util >= p.gpu_util_floor and v.tensor < p.tensor_floor and v.dram < p.dram_floor, false) as hung,
  coalesce(v.drawn_j * 10000 < p.power_floor * (v.metered_until - v.t), false) as weak,
  case
    when v.gr_engine is not null then 'gr_engine'
    when v.sm is not null then 'sm'
    when v.gpu_util is not null then 'gpu_util'
    when v.tensor is not null then 'tensor'
    when v.dram is not null then 'dram'
    else 'mem_copy'
  end as signal
from ears as p
inner join voices as v on p.unit = v.unit and v.t < p.e and v.quiet_at > p.s
where
  p.held
  and p.silent & (1::bigint << v.source_number) = 0
  and coalesce(v.gr_engine, v.gpu_util, v.sm, v.tensor, v.dram, v.mem_copy) is not null
