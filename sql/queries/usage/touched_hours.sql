-- touched_hours: the hours of [from_ms, until_ms) that the touched spans meet
with
inside as (
  select
    greatest(from_ms, $from_ms) // $hour_ms * $hour_ms as first_ms,
    least(until_ms, $until_ms) as end_ms
  from touched
  where until_ms > $from_ms and from_ms < $until_ms and until_ms > from_ms
)

select distinct unnest(range(first_ms, end_ms, $hour_ms)) as hour_ms
from inside
order by hour_ms
