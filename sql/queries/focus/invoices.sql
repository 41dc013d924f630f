-- invoices: the statements of those periods of a span whose books are closed; team null: what no team bears
-- export_days(…, period, …) is given
select
  s.period,
  s.team,
  s.currency,
  s.statement as invoice_id
from statements as s
inner join periods as p on s.period = p.period and s.number = p.number
where p.state = 'closed' and s.period in (select d.period from export_days as d)
