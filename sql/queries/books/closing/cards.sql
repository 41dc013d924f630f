-- cards: the rate cards in force, cut to the period
select
  * exclude (revision, recorded_at) replace (
    greatest(start_at, $start_at) as start_at,
    least(coalesce(end_at, $end_at), $end_at) as end_at
  )
from cards
where start_at < $end_at and coalesce(end_at, $end_at) > $start_at
order by start_at, card
