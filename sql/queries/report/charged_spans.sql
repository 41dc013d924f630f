-- charged_spans: the spans that were charged in the currency of this one, by how many they lie before it
with
here as (
  select any_value(currency) as currency
  from span_charges
  where number = 0
)

select number
from span_charges
cross join here
group by number, here.currency
having bool_and(span_charges.currency = here.currency)
