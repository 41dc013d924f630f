-- listened: what telemetry says in each piece: milliseconds by state, activity, peaks, and the energy that is the piece's alone
create or replace temp table listened as
with
spoken as (
  select *, (t // $hour_ms)::integer as hour
  from voices
  union all
  select * exclude (last_hour), unnest(range((t // $hour_ms)::integer + 1, last_hour + 1))::integer as hour
  from (
    select *, ((greatest(quiet_at, metered_until) - 1) // $hour_ms)::integer as last_hour
    from voices
    where (greatest(quiet_at, metered_until) - 1) // $hour_ms > t // $hour_ms
  ) as x
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
    case when not p.fussy and v.t >= p.s and v.metered_until <= p.e and v.metered_until > v.t then v.drawn_j end as own_j
  from spoken as v
  inner join ears as p on v.unit = p.unit and v.hour = p.hour and v.t < p.e and greatest(v.quiet_at, v.metered_until) > p.s
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
  coalesce(sum(own_j), 0)::bigint as own_j
from met
group by q
