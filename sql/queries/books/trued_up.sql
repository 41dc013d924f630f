-- trued_up: what the lines of invoices come to on the days of invoiced_keys(cluster, model, business_day)
select sum(c.amount)::decimal(18, 6) as amount
from charges as c
semi join invoiced_keys as k on c.cluster = k.cluster and c.model = k.model and c.business_day = k.business_day
where c.measure = 'invoice' and c.kind = 'adjustment'
