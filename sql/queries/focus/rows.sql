-- rows: the lines of cost of some business days as FOCUS rows, which add up to the pools' cost: a counter-line is the fleet's own
-- A purchase has up to three rows: it is billed in one, and in the others, which bill nothing, its cost takes effect: as far as
-- the commitment was used that day, and as far as it was not, to the millionth of it.
-- export_days, export_accounts, export_workloads, export_originals, export_invoices are given; 604,800,000,000 pms are a GPU-hour
with
lines as (
  select
    c.*,
    d.period,
    d.start_ms,
    d.end_ms,
    d.period_start_ms,
    d.period_end_ms,
    o.business_day < d.period_first_day as corrects_earlier,
    case when c.kind = 'correction' then coalesce(o.kind, c.detail) else c.kind end as was_kind,
    case when c.kind = 'correction' then coalesce(nullif(o.detail, ''), c.detail) else c.detail end as was_detail,
    coalesce(o.measure, c.measure) as was_measure,
    case when c.kind = 'correction' then coalesce(o.amount, c.amount) else c.amount end as was_amount,
    coalesce(c.unit_price, o.unit_price) as price,
    (c.amount::decimal(25, 6) * 1000000)::hugeint as micros,
    (coalesce(c.unit_price, o.unit_price)::decimal(25, 9) * 1000000000)::hugeint as nanos
  from charges as c
  inner join export_days as d on c.business_day = d.business_day
  left join export_originals as o on c.corrects = o.charge_id
  where c.business_day >= $first_day and c.business_day < $end_day
),

sorted_out as (
  select
    *,
    case
      when kind = 'correction' and detail = 'credit' and account = 'team' then 'Credit'
      when detail = 'trueup' or was_measure = 'invoice' then 'Adjustment'
      when was_kind in ('base', 'shared', 'unallocated', 'unavailable', 'unobserved') then 'Usage'
      when was_measure = 'commitment' and was_amount > 0 and was_kind <> 'clearing' then 'Purchase'
      when was_amount <= 0 then 'Credit'
      when price is not null then 'Usage'
      else 'Adjustment'
    end as category,
    case
      when kind <> 'correction' then null
      when corrects_earlier is not null then if(corrects_earlier, 'Correction', null)
      when detail in ('trueup', 'credit') then null
      else 'Correction'
    end as class,
    case
      when was_measure = 'gpu_hour'
        then sign(quantity_pms) * ((abs(quantity_pms::hugeint) * 1000000000000 + 302400000000) // 604800000000)
      else (coalesce(quantity, 0)::decimal(32, 6) * 1000000)::hugeint * 1000000
    end as metered
  from lines
),

-- what is priced follows from the cost, so that price × quantity is the cost: a share rounded to a millionth is no whole quantity
priced as (
  select
    *,
    category in ('Usage', 'Purchase') as is_priced,
    -- a price so small that the quantity would have more than 14 digits is taken for none
    nanos > 0 and abs(micros) < nanos * 100000000000::hugeint as is_divisible,
    is_divisible or micros = 0 as has_price,
    case
      when is_divisible then sign(micros) * ((abs(micros) * 1000000000000000::hugeint + nanos // 2) // nanos)
      when micros = 0 then metered
      else sign(micros) * 1000000000000
    end as priced_quantity,
    case
      when has_price then coalesce(price, 0)::decimal(27, 9)
      else abs(amount)::decimal(27, 9)
    end as unit,
    case was_measure
      when 'gpu_hour' then 'GPU-Hours'
      when 'cpu_hour' then 'CPU-Hours'
      when 'memory_gib_hour' then 'GiB-Hours'
      when 'kwh' then 'kWh'
      when 'commitment' then 'GPUs'
      else 'Charges'
    end as measured_in,
    was_measure
    || case when was_kind in ('adjustment', 'clearing') then ':' || was_detail else '' end
    || '/' || coalesce(nullif(model, ''), '-') as sku,
    account = 'team'
    and (was_measure = 'commitment' or (was_kind = 'adjustment' and was_detail = 'commitment')) as of_commitment,
    was_kind = 'shared' as is_shared
  from sorted_out
),

-- each share's part of what was shared: differences of floors of the running sum, which add up to one
shares as (
  select
    charge_id,
    (sum(micros) over origin_so_far * 1000000000000 // nullif(sum(micros) over origin, 0))
    - ((sum(micros) over origin_so_far - micros) * 1000000000000 // nullif(sum(micros) over origin, 0)) as ratio
  from priced
  where is_shared
  window
    origin as (partition by business_day, cluster, pool, model, rate_id, kind, was_detail),
    origin_so_far as (
      partition by business_day, cluster, pool, model, rate_id, kind, was_detail
      order by team, charge_id
      rows between unbounded preceding and current row
    )
),

-- how much of a day's commitment was used, in millionths: what it covered of the time of which it is. A correction tells no
-- quantity: it takes effect as used
covered as (
  select
    cluster,
    pool,
    business_day,
    team,
    sum(-quantity_pms)::hugeint as covered_pms
  from lines
  where kind = 'adjustment' and account = 'team' and detail = 'commitment' and measure = 'gpu_hour'
  group by all
),

bought as (
  select
    p.charge_id,
    (p.metered // 1000000) * 168000 * (p.end_ms - p.start_ms) as promised_mega_pms,
    case
      when p.kind = 'correction' or p.metered not between 1000000 and 1000000000000000000 then 1000000
      else least(1000000, (coalesce(c.covered_pms, 0) * 1000000000000 + promised_mega_pms // 2) // promised_mega_pms)
    end as used
  from priced as p
  left join covered as c
    on
      p.cluster = c.cluster
      and p.pool is not distinct from c.pool
      and p.business_day = c.business_day
      and p.team is not distinct from c.team
  where p.category = 'Purchase'
),

-- a row for the line; and for a purchase those of the usage that it pays for
parted as (
  select
    p.*,
    part.effect,
    part.effect <> '' as is_effect,
    if(is_effect, 'Usage', p.category) as row_category,
    case part.effect
      when '' then p.metered
      when 'Used' then p.metered // 1000000 * b.used
      else p.metered - p.metered // 1000000 * b.used
    end as part_metered,
    case part.effect
      when '' then if(p.category = 'Purchase', 0, p.micros)
      when 'Used' then p.micros * b.used // 1000000
      else p.micros - p.micros * b.used // 1000000
    end as effective_micros
  from priced as p
  inner join (values (''), ('Used'), ('Unused')) as part (effect) on part.effect = '' or p.category = 'Purchase'
  left join bought as b on p.charge_id = b.charge_id
  where part.effect = '' or part.effect = 'Used' and b.used > 0 or part.effect = 'Unused' and b.used < 1000000
),

shown as (
  select
    p.*,
    a.department,
    a.cost_centre,
    w.namespace,
    w.kind as workload_kind,
    w.name as workload_name,
    w.tags,
    h.ratio,
    i.invoice_id,
    coalesce(nullif(a.cost_centre, ''), nullif(a.department, ''), p.team, $fleet_account) as billing_account,
    case
      when nullif(a.cost_centre, '') is not null then 'Cost Centre'
      when nullif(a.department, '') is not null then 'Department'
      when p.team is not null then 'Team'
      else 'Fleet'
    end as billing_account_type,
    p.cluster || '/' || nullif(p.pool, '') as pool_id
  from parted as p
  left join export_accounts as a on p.business_day = a.business_day and p.team = a.team
  left join export_workloads as w on p.cluster = w.cluster and p.workload_id = w.workload_id
  left join shares as h on p.charge_id = h.charge_id
  left join export_invoices as i
    on p.period = i.period and p.currency = i.currency and i.team is not distinct from if(p.account = 'team', p.team, null)
)

select
  if(is_effect, 0, amount)::decimal(18, 6) as billed_cost,
  billing_account as billing_account_id,
  billing_account as billing_account_name,
  billing_account_type,
  currency as billing_currency,
  make_timestamptz(period_end_ms * 1000) as billing_period_end,
  make_timestamptz(period_start_ms * 1000) as billing_period_start,
  row_category as charge_category,
  class as charge_class,
  concat_ws(
    ' ',
    case when kind = 'correction' then 'Correction:' end,
    case
      when is_effect then 'Commitment ' || lower(effect)
      when category = 'Purchase' and effect <> 'Used' then 'Commitment'
      when detail = 'trueup' then 'Difference to the invoice'
      when kind = 'correction' and detail = 'credit' then 'Dispute decided for the team'
      when is_shared then 'Share of ' || was_detail || ' capacity'
      when was_kind = 'adjustment' and account = 'own' then 'Taken off: ' || was_detail || ' capacity'
      when was_kind = 'adjustment' then 'Adjustment: ' || was_detail
      when was_kind = 'clearing' then if(was_amount > 0, 'Borne by the fleet: ', 'Passed on: ') || was_detail
      when was_kind = 'base' then 'Held capacity'
      else upper(was_kind[1]) || was_kind[2:] || ' capacity'
    end,
    'of ' || coalesce(nullif(model, ''), 'unknown GPUs'),
    'in pool ' || nullif(pool, '')
  ) as charge_description,
  case
    when row_category = 'Purchase' or was_detail = 'reserved' then 'Recurring'
    when row_category = 'Adjustment' or detail = 'credit' then 'One-Time'
    else 'Usage-Based'
  end as charge_frequency,
  make_timestamptz(end_ms * 1000) as charge_period_end,
  make_timestamptz(start_ms * 1000) as charge_period_start,
  if(of_commitment, 'Usage', null) as commitment_discount_category,
  if(of_commitment, coalesce(pool_id, cluster) || '/' || team, null) as commitment_discount_id,
  if(of_commitment, 'Commitment of ' || team || ' for ' || coalesce(pool_id, cluster), null) as commitment_discount_name,
  (if(
    of_commitment and row_category in ('Usage', 'Purchase') and class is distinct from 'Correction', part_metered, null
  )::decimal(26, 0) * 0.000000000001::decimal(12, 12))::decimal(38, 12) as commitment_discount_quantity,
  if(of_commitment and row_category = 'Usage', if(is_effect, effect, 'Used'), null) as commitment_discount_status,
  if(of_commitment, 'Fixed sum', null) as commitment_discount_type,
  if(commitment_discount_quantity is null, null, measured_in) as commitment_discount_unit,
  (if(
    row_category = 'Usage' and effect <> 'Unused', if(is_effect, 0, metered), null
  )::decimal(26, 0) * 0.000000000001::decimal(12, 12))::decimal(38, 12) as consumed_quantity,
  if(row_category = 'Usage' and effect <> 'Unused', measured_in, null) as consumed_unit,
  billed_cost as contracted_cost,
  if(is_priced, unit, null) as contracted_unit_price,
  (effective_micros::decimal(28, 0) * 0.000001::decimal(6, 6))::decimal(18, 6) as effective_cost,
  invoice_id,
  $provider as invoice_issuer_name,
  billed_cost as list_cost,
  contracted_unit_price as list_unit_price,
  case when row_category not in ('Usage', 'Purchase') then null when is_effect then 'Committed' else 'Standard' end
    as pricing_category,
  (if(is_priced, if(is_effect, 0, priced_quantity), null)::decimal(26, 0) * 0.000000000001::decimal(12, 12))::decimal(38, 12)
    as pricing_quantity,
  if(is_priced, if(has_price, measured_in, 'Charges'), null) as pricing_unit,
  $provider as provider_name,
  $provider as publisher_name,
  case
    when category = 'Purchase' and effect <> 'Used' then commitment_discount_id
    when workload_id is null then pool_id
    else cluster || '/' || workload_id
  end as resource_id,
  case
    when category = 'Purchase' and effect <> 'Used' then commitment_discount_name
    when workload_id is null then nullif(pool, '')
    else coalesce(namespace || '/', '') || workload_name
  end as resource_name,
  case
    when resource_id is null then null
    when category = 'Purchase' and effect <> 'Used' then 'Commitment'
    when workload_id is null then 'Pool'
    else coalesce(nullif(workload_kind, ''), 'Workload')
  end as resource_type,
  'Compute' as service_category,
  'GPU Fleet' as service_name,
  'Other (Compute)' as service_subcategory,
  if(is_priced, sku, null) as sku_id,
  if(is_priced, measured_in || if(was_kind in ('adjustment', 'clearing'), ' ' || was_detail, ''), null) as sku_meter,
  if(
    is_priced and was_measure = 'gpu_hour', json_object('GpuCount', 1, 'x_Model', coalesce(nullif(model, ''), '-'))::varchar, null
  ) as sku_price_details,
  if(is_priced, sku || '@' || if(has_price, coalesce(rate_id::varchar, unit::varchar), 'charge'), null) as sku_price_id,
  team as sub_account_id,
  team as sub_account_name,
  if(team is null, null, 'Team') as sub_account_type,
  tags,
  $provider as service_provider_name,
  $provider as host_provider_name,
  if(is_shared, 'shared-' || was_detail, null) as allocated_method_id,
  '{"Elements":[{"AllocatedRatio":' || (ratio::decimal(26, 0) * 0.000000000001::decimal(12, 12))::varchar
  || ',"UsageUnit":"GPU-Hours"}]}' as allocated_method_details,
  if(is_shared, team, null) as allocated_resource_id,
  if(is_shared, team, null) as allocated_resource_name,
  null::varchar as allocated_tags,
  account as x_account,
  business_day as x_business_day,
  charge_id::varchar as x_charge_id,
  cluster as x_cluster,
  corrects::varchar as x_corrects_charge_id,
  cost_centre as x_cost_centre,
  department as x_department,
  nullif(detail, '') as x_detail,
  kind as x_kind,
  measure as x_measure,
  model as x_model,
  period as x_period,
  pool as x_pool,
  rate_id::varchar as x_rate_id
from shown
order by business_day, account desc, cluster, pool, model, team, kind, detail, workload_id, charge_id, is_effect, effect desc
