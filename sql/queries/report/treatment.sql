-- treatment: what became of the cost of what nobody held: how much of each kind teams share, and how much nobody is asked for
select
  detail as kind,
  coalesce(sum(micros) filter (where kind = 'shared'), 0) as shared_micros,
  coalesce(-sum(micros) filter (where account = 'own'), 0) as unbilled_micros
from span_charges
where number = 0 and kind in ('shared', 'adjustment')
group by detail
