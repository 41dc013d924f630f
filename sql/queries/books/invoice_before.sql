-- invoice_before: every revision of an invoice, and the days that its last one has
select
  v.revision,
  i.business_day
from invoices_versions as v
left join invoices as i on v.period = i.period and v.invoice = i.invoice and v.invoice_id = i.invoice_id and v.revision = i.revision
where v.period = $period and v.invoice = $invoice
