-- rates: the prices in force, cut to the period
select
  * exclude (recorded_at) replace (
    greatest(start_at, $start_at) as start_at,
    least(coalesce(end_at, $end_at), $end_at) as end_at
  )
from rates
where start_at < $end_at and coalesce(end_at, $end_at) > $start_at
order by card, version, position, rate_id
