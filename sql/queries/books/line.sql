-- line: a line of cost of $teams (null: of all, and of no team), what it is called, the price that it names, its corrections so far
with
named as (
  select
    cluster,
    workload_id,
    arg_max(kind || ' ' || namespace || '/' || name, start_at) as workload
  from workloads
  group by cluster, workload_id
),

made as (
  select
    k.cluster,
    k.line_id,
    sum(o.amount) as amount
  from corrections as k
  inner join charges as o on k.cluster = o.cluster and k.charge_id = o.charge_id
  group by k.cluster, k.line_id
)

select
  c.charge_id,
  c.cluster,
  c.business_day,
  c.pool,
  c.model,
  c.team,
  c.workload_id,
  c.kind,
  c.account,
  c.detail,
  c.measure,
  c.quantity_pms,
  c.quantity,
  c.unit_price,
  c.amount,
  c.currency,
  c.corrects,
  k.line_id,
  k.business_day as line_day,
  w.workload,
  r.card,
  r.version,
  r.position,
  r.cluster_glob,
  r.pool_glob,
  r.model_glob,
  r.author,
  epoch_ms(r.start_at) as price_start_ms,
  coalesce(m.amount, 0)::decimal(18, 6) as corrected
from charges as c
left join corrections as k on c.cluster = k.cluster and c.charge_id = k.charge_id
left join rates as r on c.rate_id = r.rate_id
left join named as w on c.cluster = w.cluster and c.workload_id = w.workload_id
left join made as m on c.cluster = m.cluster and c.charge_id = m.line_id
where c.charge_id = $charge_id and ($teams is null or list_contains($teams, c.team))
