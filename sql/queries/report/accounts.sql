-- accounts: all lines of cost of the span, summed by account, kind, detail and measure
with
summed as (
  select
    account,
    kind,
    coalesce(detail, '') as detail,
    coalesce(measure, 'gpu_hour') as measure,
    count(*) as line_count,
    sum(micros) as micros
  from span_charges
  where number = 0
  group by all
)

select *
from summed
order by account = 'team' desc, account = 'own' desc, kind, detail, measure
