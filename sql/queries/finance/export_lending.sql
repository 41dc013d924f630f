-- export_lending: who lent to whom in the hours of some business days, as the stable view has it
select l.*
from reporting.lending_by_hour as l
where l.start_at >= make_timestamptz($start_ms * 1000) and l.start_at < make_timestamptz($end_ms * 1000)
order by l.start_at, l.cluster, l.pool, l.lender, l.borrower
