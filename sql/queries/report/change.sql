-- change: why what $teams (null: all) owe differs from the mean of the $spans spans before, as amounts that add up to the
-- difference. amount is in millionths × $spans, so that all of it is whole. For each pool and model the quantity of now at the
-- unit price of before tells how much of a workload's difference its hours make; what is left of it is the price's. A workload
-- is named where it is among the three that moved most in its direction; the others are summed by cause.
with
owed as (
  select
    case kind
      when 'base' then 'base' when 'shared' then 'shared' when 'correction' then 'corrections' else 'adjustments'
    end as part,
    cluster,
    pool,
    model,
    case when coalesce(measure, 'gpu_hour') = 'gpu_hour' then 'gpu_hour' else measure end as measure,
    team,
    workload_id,
    coalesce(sum(quantity_pms) filter (where number = 0), 0)::hugeint as quantity,
    coalesce(sum(micros) filter (where number = 0), 0)::hugeint as now,
    coalesce(sum(quantity_pms) filter (where number > 0), 0)::hugeint as quantity_before,
    coalesce(sum(micros) filter (where number > 0), 0)::hugeint as before
  from span_charges
  where account = 'team' and number <= $spans and ($teams is null or list_contains($teams, team))
  group by all
),

unit_before as (
  select
    cluster,
    pool,
    model,
    sum(quantity_before)::hugeint as quantity,
    sum(before)::hugeint as micros
  from owed
  where part = 'base' and measure = 'gpu_hour'
  group by all
  having sum(quantity_before) > 0
),

moved as (
  select
    o.*,
    case
      when o.measure = 'gpu_hour' and u.quantity is not null then o.quantity * u.micros // u.quantity
      else o.now
    end * $spans::hugeint - o.before as by_hours,
    (o.now * $spans::hugeint - o.before) - by_hours as by_price
  from owed as o
  left join unit_before as u on o.cluster = u.cluster and o.pool = u.pool and o.model = u.model
  where o.part = 'base'
),

workloads_moved as (
  select
    cluster,
    team,
    workload_id,
    case
      when sum(before) = 0 then 'new'
      when sum(now) = 0 then 'ended'
      when sum(by_hours) > 0 then 'grown'
      else 'shrunk'
    end as cause,
    sum(by_hours)::hugeint as amount
  from moved
  group by all
  having sum(by_hours) <> 0
),

ranked as (
  select
    *,
    row_number() over (
      partition by amount > 0
      order by abs(amount) desc, cluster, workload_id, team
    ) as place
  from workloads_moved
)

select -- noqa: AM07
  cause,
  cluster,
  team,
  workload_id,
  1 as workloads,
  amount
from ranked
where place <= 3 and workload_id is not null
union all by name
select
  cause,
  count(*) as workloads,
  sum(amount)::hugeint as amount
from ranked
where place > 3 or workload_id is null
group by cause
union all by name
select
  'price' as cause,
  sum(by_price)::hugeint as amount
from moved
having sum(by_price) <> 0
union all by name
select
  part as cause,
  sum(now * $spans::hugeint - before)::hugeint as amount
from owed
where part <> 'base'
group by part
having sum(now * $spans::hugeint - before) <> 0
order by cause, workload_id, team
