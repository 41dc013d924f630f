-- span_charges: the charges from the first day of $begins to $last_day. number says how many spans before this one a line lies:
-- how many of the days of $begins, each a span's first, come after it. micros is the amount in millionths: amount × 1,000,000
-- would leave what DECIMAL(18, 6) can hold, and in a wider one it is dear.
select
  *,
  len(list_filter($begins, lambda day: day > business_day)) as number,
  trunc(amount)::bigint * 1000000 + ((amount - trunc(amount)) * 1000000)::bigint as micros
from charges
where business_day between $begins[1] and $last_day
