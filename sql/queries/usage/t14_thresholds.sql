-- told_thresholds: floors by signal, workload kind and model, while they are in force
create or replace temp table told_thresholds as
select
  threshold_id,
  epoch_ms(start_at) as s,
  least(
    coalesce(epoch_ms(end_at), $forever),
    lead(epoch_ms(start_at), 1, $forever) over (partition by threshold_id order by start_at)
  ) as e,
  signal,
  coalesce(measured_how, '') = 'default' as is_default,
  coalesce(nullif(workload_kind, ''), '*') as workload_kind,
  coalesce(nullif(model, ''), '*') as model,
  floor
from thresholds
