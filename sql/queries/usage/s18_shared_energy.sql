-- shared_energy: a counter's difference that is not one piece's alone is split over rows by time and then over claims by their
-- part-milliseconds, by differences of floors of the running amount
create or replace temp table shared_energy as
with
fussy_hours as (
  select distinct unit, hour
  from ears
  where fussy
),

inner_bounds as (
  select unit, hour, s as t
  from ears
  where s % $hour_ms > 0 and not fussy
  union
  select unit, hour, e as t
  from ears
  where e % $hour_ms > 0 and not fussy
),

cut_voices as (
  select unit, t, metered_until, drawn_j
  from voices
  where metered_until > t and (metered_until - 1) // $hour_ms > t // $hour_ms
  union
  select v.unit, v.t, v.metered_until, v.drawn_j
  from voices as v
  inner join inner_bounds as b
    on v.unit = b.unit and (v.t // $hour_ms)::integer = b.hour and v.t < b.t and b.t < v.metered_until
  union
  select v.unit, v.t, v.metered_until, v.drawn_j
  from voices as v
  inner join fussy_hours as f on v.unit = f.unit and (v.t // $hour_ms)::integer = f.hour
  where v.metered_until > v.t
),

spoken as (
  select *, unnest(range(t // $hour_ms, (metered_until - 1) // $hour_ms + 1))::integer as hour
  from cut_voices
),

met as (
  select
    p.q,
    u.gpu,
    v.t,
    v.metered_until,
    v.drawn_j,
    p.parts * (least(v.metered_until, p.e) - greatest(v.t, p.s)) as pms
  from spoken as v
  inner join ears as p on v.unit = p.unit and v.hour = p.hour and v.t < p.e and v.metered_until > p.s
  inner join units as u on v.unit = u.unit
  where p.fussy or v.t < p.s or v.metered_until > p.e
),

by_claim as (
  select
    p.c,
    m.gpu,
    m.t,
    m.metered_until,
    m.drawn_j,
    p.row_s,
    p.row_e,
    p.address,
    p.a,
    sum(m.pms) as pms
  from met as m
  inner join pieces as p on m.q = p.q
  group by all
),

over_time as (
  select
    *,
    greatest(t, row_s) as low,
    least(metered_until, row_e) as high,
    drawn_j::hugeint * (high - t) // (metered_until - t) - drawn_j::hugeint * (low - t) // (metered_until - t) as row_j
  from by_claim
),

running as (
  select
    o.*,
    sum(o.pms) over (
      partition by o.gpu, o.t, o.row_s
      order by x.device_id, o.a nulls last, x.pool, x.model, x.node rows unbounded preceding
    ) as top,
    greatest($gpu_parts * (o.high - o.low), sum(o.pms) over (partition by o.gpu, o.t, o.row_s)) as whole
  from over_time as o
  inner join addresses as x on o.address = x.address
)

select
  c,
  row_s,
  address,
  a,
  sum(row_j * top // whole - row_j * (top - pms) // whole)::bigint as energy_j
from running
group by all
