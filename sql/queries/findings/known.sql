-- known: the findings of a cluster that are open
select
  finding_id,
  epoch_ms(start_at) as start_at,
  kind,
  subject,
  team,
  signals,
  coverage_permille,
  cost,
  currency,
  evidence,
  state,
  revision,
  epoch_ms(recorded_at) as recorded_ms
from findings
where cluster = $cluster and end_at is null and list_contains($kinds::varchar[], kind)
