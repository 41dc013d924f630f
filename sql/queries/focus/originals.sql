-- originals: the lines that a span's corrections correct: what they were, and in which days
select
  o.charge_id,
  any_value(o.kind) as kind,
  any_value(o.detail) as detail,
  any_value(o.measure) as measure,
  any_value(o.unit_price) as unit_price,
  any_value(o.amount) as amount,
  any_value(o.business_day) as business_day
from charges as o
inner join charges as c on o.charge_id = c.corrects
where c.kind = 'correction' and c.business_day >= $first_day and c.business_day < $end_day
group by o.charge_id
