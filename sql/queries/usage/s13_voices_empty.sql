-- voices: what a sample says from t on of a unit that is not simple: its activity until quiet_at, its energy counter's difference
-- until metered_until
create or replace temp table voices (
  unit integer,
  t bigint,
  next_t bigint,
  quiet_at bigint,
  metered_until bigint,
  drawn_j bigint,
  source_number integer,
  gr_engine integer,
  gpu_util integer,
  sm integer,
  tensor integer,
  dram integer,
  mem_copy integer,
  power_dw integer,
  fb_used_mib integer
);

create or replace temp table listened (
  q bigint,
  computing_ms bigint,
  idle_ms bigint,
  confirmed_ms bigint,
  stalled_ms bigint,
  metered_ms bigint,
  activity_permille_ms bigint,
  activity_peak_permille integer,
  power_peak_dw integer,
  fb_used_peak_mib integer,
  own_j bigint,
  shared struct(t bigint, metered_until bigint, drawn_j bigint, pms bigint)[]
)
