-- telemetry: each sample of each device, in percent, watts and GiB, as long as samples are kept
select
  s.cluster,
  s.sampled_at,
  w.node,
  w.device_index,
  w.gpu_uuid,
  w.gi_id,
  w.profile,
  w.model,
  s.source,
  s.gr_engine_permille::decimal(9, 0) * 0.1 as activity_percent,
  s.gpu_util_permille::decimal(9, 0) * 0.1 as gpu_util_percent,
  s.sm_permille::decimal(9, 0) * 0.1 as sm_percent,
  s.tensor_permille::decimal(9, 0) * 0.1 as tensor_percent,
  s.dram_permille::decimal(9, 0) * 0.1 as dram_percent,
  s.power_dw::decimal(9, 0) * 0.1 as power_w,
  s.energy_j,
  s.gpu_temp_c,
  s.memory_temp_c,
  (s.fb_used_mib / 1024)::decimal(18, 3) as memory_gib,
  s.xid
from main.samples as s
inner join main.series as w
  on
    s.cluster = w.cluster
    and s.series_id = w.series_id
    and s.sampled_at >= w.start_at
    and (w.end_at is null or s.sampled_at < w.end_at)
