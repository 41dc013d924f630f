-- charged_spans: the spans before this one that were charged on each of their days, in the currency of this one, by how many
-- they lie before it. The days of $begins are the first of each.
with
here as (
  select any_value(currency) as currency
  from span_charges
  where number = 0
)

select c.number
from span_charges as c
cross join here as h
where c.number > 0
group by c.number, h.currency
having
  bool_and(c.currency = h.currency)
  and count(distinct c.business_day) = date_diff(
    'day', $begins[len($begins) - c.number]::date, $begins[len($begins) - c.number + 1]::date
  )
