-- voices: what a unit's sample says from t on: its activity until quiet_at, its energy counter's difference until metered_until
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
)
