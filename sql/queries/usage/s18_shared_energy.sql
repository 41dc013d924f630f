-- shared_energy: a counter's difference that is not one piece's alone is split over rows by time and then over claims by their
-- part-milliseconds, by differences of floors of the running amount
create or replace temp table shared_energy as
with
met as (
  select q, unnest(shared) as voice
  from listened
  where shared is not null
),

by_claim as (
  select
    p.c,
    u.gpu,
    m.voice.t,
    m.voice.metered_until,
    m.voice.drawn_j,
    p.row_s,
    p.row_e,
    p.address,
    p.a,
    sum(m.voice.pms) as pms
  from met as m
  inner join pieces as p on m.q = p.q
  inner join units as u on p.c = u.c and p.gpu_uuid = u.gpu_uuid and p.gi_id = u.gi_id
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
