-- floors: for each workload kind and model in each era the floor of each signal: that of the most special threshold in force;
-- a floor that nobody told (a default) gives way to any that was told
create or replace temp table floors as
with
told as (
  select distinct p.c, p.era_s, p.model, coalesce(k.kind, '') as kind
  from pieces as p
  inner join told_allocations as a on p.c = a.c and p.a = a.a
  left join kinds as k on a.c = k.c and a.workload_id = k.workload_id
  where p.named
),

chosen as (
  select
    t.c,
    t.era_s,
    t.model,
    t.kind,
    f.signal,
    arg_min(f.floor, (f.is_default, f.workload_kind = '*', -length(replace(f.model, '*', '')), f.threshold_id)) as floor
  from told as t
  inner join told_thresholds as f
    on f.s <= t.era_s and t.era_s < f.e and t.kind glob f.workload_kind and t.model glob f.model
  group by all
),

by_signal as (
  select
    t.c,
    t.era_s,
    t.model,
    t.kind,
    map_from_entries(list((c.signal, c.floor)) filter (where c.signal is not null)) as floor_of
  from told as t
  left join chosen as c on t.c = c.c and t.era_s = c.era_s and t.model = c.model and t.kind = c.kind
  group by all
),

wide as (
  select
    c,
    era_s,
    model,
    kind,
    coalesce(floor_of['gr_engine'], 20) as gr_engine_floor,
    coalesce(floor_of['gpu_util'], 20) as gpu_util_floor,
    coalesce(floor_of['sm'], 20) as sm_floor,
    coalesce(floor_of['tensor'], 10) as tensor_floor,
    coalesce(floor_of['dram'], 20) as dram_floor,
    coalesce(floor_of['mem_copy'], 20) as mem_copy_floor,
    floor_of['power'] as power_floor
  from by_signal
)

select
  *,
  dense_rank() over (
    order by gr_engine_floor, gpu_util_floor, sm_floor, tensor_floor, dram_floor, mem_copy_floor, power_floor
  ) as f
from wide
