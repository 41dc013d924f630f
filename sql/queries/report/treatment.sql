-- treatment: what became of the cost of what nobody held: how much of each kind teams share, and how much nobody is asked for
select
  detail as kind,
  coalesce((sum(amount) filter (where kind = 'shared')::decimal(38, 6) * 1000000)::hugeint, 0) as shared_micros,
  coalesce((sum(-amount) filter (where account = 'own')::decimal(38, 6) * 1000000)::hugeint, 0) as unbilled_micros
from charges
where business_day between $first_day and $last_day and kind in ('shared', 'adjustment')
group by detail
