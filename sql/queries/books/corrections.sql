-- corrections: what differs between new_lines and the lines of closed days with the corrections made of them so far, line by line;
-- and, taken back, the corrections of days that are not closed any more. late_days(business_day), new_lines and
-- shut_days(business_day, start_ms, end_ms), all days that are closed, are given, and $today, the day on which they are booked
with
earlier as (
  select
    k.line_id,
    k.business_day as line_day,
    c.cluster,
    c.pool,
    c.model,
    c.team,
    c.workload_id,
    c.account,
    c.detail as kind,
    c.currency,
    c.measure,
    arg_max(c.unit_price, c.recorded_at) as unit_price,
    arg_max(c.rate_id, c.recorded_at) as rate_id,
    count(*) as times,
    sum(c.quantity_pms) as quantity_pms,
    sum(c.quantity) as quantity,
    sum(c.amount) as amount
  from corrections as k
  inner join charges as c on k.cluster = c.cluster and k.charge_id = c.charge_id
  where c.kind = 'correction'
  group by all
),

signed as (
  select
    *,
    1 as sign
  from new_lines
  union all by name
  select
    * exclude (recorded_at),
    -1 as sign
  from charges
  where kind <> 'correction'
),

sides as (
  select
    charge_id as line_id,
    business_day as line_day,
    cluster,
    pool,
    model,
    team,
    workload_id,
    account,
    kind,
    currency,
    measure,
    unit_price,
    rate_id,
    0 as times,
    sign * quantity_pms as quantity_pms,
    sign * quantity as quantity,
    sign * amount as amount
  from signed
  where business_day in (select business_day from late_days)
  union all by name
  select * replace (-quantity_pms as quantity_pms, -quantity as quantity, -amount as amount)
  from earlier
  where
    line_day in (select business_day from late_days)
    or line_day not in (select business_day from shut_days)
),

differences as (
  select
    line_id,
    line_day,
    cluster,
    any_value(pool) as pool,
    any_value(model) as model,
    any_value(team) as team,
    any_value(workload_id) as workload_id,
    any_value(account) as account,
    any_value(kind) as kind,
    any_value(currency) as currency,
    any_value(measure) as measure,
    max(unit_price) as unit_price,
    max(rate_id) as rate_id,
    max(times) as times,
    sum(quantity_pms)::decimal(38, 0) as quantity_pms,
    sum(quantity)::decimal(38, 6) as quantity,
    sum(amount)::decimal(18, 6) as amount
  from sides
  group by line_id, line_day, cluster
  having sum(amount) <> 0 or sum(quantity_pms) <> 0 or coalesce(sum(quantity), 0) <> 0
),

originals as (
  select distinct
    cluster,
    charge_id
  from charges
  where kind <> 'correction'
)

select
  (md5_number_lower(to_json(['correction', d.cluster, d.line_id::varchar, d.times::varchar])::varchar) >> 1)::bigint as charge_id,
  d.cluster,
  $today as business_day,
  d.pool,
  d.model,
  d.team,
  d.workload_id,
  'correction' as kind,
  d.account,
  d.quantity_pms,
  d.unit_price,
  d.amount,
  d.currency,
  d.rate_id,
  o.charge_id as corrects,
  d.kind as detail,
  d.measure,
  d.quantity,
  d.line_id,
  d.line_day
from differences as d
left join originals as o on d.cluster = o.cluster and d.line_id = o.charge_id
order by d.line_day, d.cluster, d.line_id
