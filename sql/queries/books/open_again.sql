-- open_again: whether there are corrections of days that no closed period has (any more), which do not add up to nothing
with
closed as (
  select
    start_day,
    end_day
  from periods
  where state = 'closed'
),

loose as (
  select
    k.cluster,
    k.charge_id,
    k.line_id
  from corrections as k
  anti join closed as p on k.business_day >= p.start_day and k.business_day < p.end_day
)

select
  l.cluster,
  l.line_id
from loose as l
inner join charges as c on l.cluster = c.cluster and l.charge_id = c.charge_id and c.kind = 'correction'
group by l.cluster, l.line_id
having sum(c.amount) <> 0 or sum(c.quantity_pms) <> 0
