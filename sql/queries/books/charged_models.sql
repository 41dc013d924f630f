-- charged_models: the clusters, models and currencies that the period has lines of
select distinct
  cluster,
  model,
  currency
from charges
where business_day >= $start_day and business_day < $end_day and kind <> 'correction' and measure = 'gpu_hour' and model is not null
order by cluster, model
