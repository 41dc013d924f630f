-- invoices: the lines of the period's invoices
select
  invoice,
  issuer,
  cluster,
  model,
  business_day,
  amount,
  currency,
  share,
  source
from invoices
where business_day >= $start_day and business_day < $end_day
order by invoice, cluster, model, business_day, invoice_id
