-- touched_hours: the hours of [from_ms, until_ms) that the touched spans meet
select distinct unnest(range(
  greatest(from_ms, $from_ms) // $hour_ms * $hour_ms,
  least(until_ms, $until_ms),
  $hour_ms
)) as hour_ms
from touched
where until_ms > $from_ms and from_ms < $until_ms and until_ms > from_ms
order by hour_ms
