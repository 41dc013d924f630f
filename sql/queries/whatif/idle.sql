-- idle: of each workload the stretches of whole hours in which every device of it was known to be idle by two signals for 95 % of
-- what it was held, and none computed
with
hours as (
  select
    workload_id,
    epoch_ms(date_trunc('hour', row_start_at)) as h,
    bool_and(computing_pms = 0 and idle_confirmed_pms * 20 >= held_pms * 19) as quiet
  from usage_hourly
  where
    cluster = $cluster and allocation_id is not null and held_pms > 0
    and row_start_at >= make_timestamptz($from_ms::bigint * 1000)
    and row_start_at < make_timestamptz($until_ms::bigint * 1000)
  group by all
),

numbered as (
  select
    workload_id,
    h,
    h - 3600000 * row_number() over (partition by workload_id order by h) as stretch
  from hours
  where quiet
)

select
  workload_id,
  min(h) as start_ms,
  max(h) + 3600000 as end_ms
from numbered
group by workload_id, stretch
order by workload_id, start_ms
