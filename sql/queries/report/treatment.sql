-- treatment: what became of the cost of what nobody held: how much of each kind teams share, and how much nobody is asked for
select
  detail as kind,
  (coalesce(sum(amount) filter (where kind = 'shared'), 0) * 1000000)::hugeint as shared_micros,
  (coalesce(-sum(amount) filter (where account = 'own'), 0) * 1000000)::hugeint as unbilled_micros
from week_charges
where in_week and kind in ('shared', 'adjustment')
group by detail
