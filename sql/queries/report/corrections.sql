-- corrections: the correction lines of the span, the largest first, at most $most
select
  business_day,
  coalesce(team, '') as team,
  account,
  coalesce(detail, '') as detail,
  corrects,
  micros,
  count(*) over () as line_count
from span_charges
where number = 0 and kind = 'correction'
order by abs(micros) desc, business_day, charge_id
limit $most
