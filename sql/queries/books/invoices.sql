-- invoices: each invoice as it stands, in order of period
select
  period,
  invoice,
  any_value(issuer) as issuer,
  count(*) as lines,
  min(business_day) as first_day,
  max(business_day) as last_day,
  sum(amount)::decimal(18, 6) as total,
  any_value(currency) as currency,
  any_value(share) as share,
  any_value(source) as source
from invoices
group by period, invoice
order by period, invoice
