-- ledger: how much there is of what grows
select
  (select count(*) from samples) as samples,
  (select epoch_ms(max(sampled_at)) from samples) as last_sample_ms,
  (select count(*) from usage_hourly) as usage_rows,
  (select count(*) from charges) as charges
