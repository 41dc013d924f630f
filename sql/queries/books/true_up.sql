-- true_up: what invoices ask beyond new_lines, or less, by cluster, model and day, as lines that make the day's sum the invoice's.
-- It is shared by held time over the teams of each pool by largest remainder; where nobody held any, or the invoice says `own`, it
-- stands with the pools by their capacity. new_lines and business_days are given
with
invoiced as (
  select
    cluster,
    model,
    business_day,
    any_value(currency) as currency,
    min(share) as share,
    (sum(amount)::decimal(30, 6) * 1000000::decimal(7, 0))::hugeint as micros
  from invoices
  where business_day in (select business_day from business_days)
  group by cluster, model, business_day
),

charged as (
  select
    cluster,
    model,
    business_day,
    (sum(amount)::decimal(30, 6) * 1000000::decimal(7, 0))::hugeint as micros
  from new_lines
  group by cluster, model, business_day
),

differences as (
  select
    i.cluster,
    i.model,
    i.business_day,
    i.currency,
    i.share,
    i.micros - coalesce(c.micros, 0) as micros
  from invoiced as i
  left join charged as c
    on i.cluster = c.cluster and i.model = c.model and i.business_day = c.business_day
  where i.micros <> coalesce(c.micros, 0)
),

-- one row a pool and team that held something, one a pool for its whole capacity, and one for what nothing is known of
candidates as (
  select
    l.cluster,
    l.model,
    l.business_day,
    l.pool,
    l.team,
    1 as choice,
    sum(l.quantity_pms)::hugeint as weight
  from new_lines as l
  inner join differences as d
    on l.cluster = d.cluster and l.model = d.model and l.business_day = d.business_day
  where l.kind = 'base' and l.account = 'team' and d.share = 'held'
  group by all
  union all by name
  select
    l.cluster,
    l.model,
    l.business_day,
    l.pool,
    null::varchar as team,
    2 as choice,
    sum(l.quantity_pms)::hugeint as weight
  from new_lines as l
  inner join differences as d
    on l.cluster = d.cluster and l.model = d.model and l.business_day = d.business_day
  group by all
  union all by name
  select
    cluster,
    model,
    business_day,
    null::varchar as pool,
    null::varchar as team,
    3 as choice,
    1::hugeint as weight
  from differences
),

weights as (
  select *
  from candidates
  where weight > 0
  qualify choice = min(choice) over (partition by cluster, model, business_day)
),

floors as (
  select
    d.cluster,
    d.model,
    d.business_day,
    d.currency,
    d.micros,
    w.pool,
    w.team,
    abs(d.micros) * w.weight // sum(w.weight) over shared as floor_micros,
    abs(d.micros) * w.weight % sum(w.weight) over shared as remainder
  from differences as d
  inner join weights as w
    on d.cluster = w.cluster and d.model = w.model and d.business_day = w.business_day
  window shared as (partition by d.cluster, d.model, d.business_day)
),

shares as (
  select
    *,
    sign(micros)::hugeint * (
      floor_micros
      + (
        row_number() over (partition by cluster, model, business_day order by remainder desc, pool, team)
        <= abs(micros) - sum(floor_micros) over (partition by cluster, model, business_day)
      )::hugeint
    ) as share_micros
  from floors
)

select
  (
    md5_number_lower(to_json([cluster, business_day, pool, model, 'trueup', team])::varchar) >> 1
  )::bigint as charge_id,
  cluster,
  business_day,
  pool,
  model,
  team,
  null::bigint as workload_id,
  'adjustment' as kind,
  case when team is null then 'own' else 'team' end as account,
  0::decimal(38, 0) as quantity_pms,
  null::decimal(18, 9) as unit_price,
  share_micros::decimal(28, 0) * 0.000001::decimal(6, 6) as amount,
  currency,
  null::bigint as rate_id,
  null::bigint as corrects,
  'trueup' as detail,
  'invoice' as measure,
  (share_micros::decimal(28, 0) * 0.000001::decimal(6, 6))::decimal(38, 6) as quantity
from shares
where share_micros <> 0
