-- units: what is listened to on each GPU that is here. `simple`: one series is all that speaks of the GPU, and one device is all it is
create or replace temp table units as
with
here_units as (
  select distinct c, gpu_uuid, gi_id
  from here
),

speakers as (
  select
    c,
    gpu_uuid,
    any_value(gpu) as gpu,
    count(distinct series_id) as series,
    any_value(gi_id) as gi_id
  from told_series
  group by c, gpu_uuid
)

select
  h.c,
  h.gpu_uuid,
  h.gi_id,
  s.gpu,
  (row_number() over ())::integer as unit,
  s.series = 1 and count(*) over (partition by h.c, h.gpu_uuid) = 1 and s.gi_id = h.gi_id as simple
from here_units as h
inner join speakers as s on h.c = s.c and h.gpu_uuid = s.gpu_uuid
