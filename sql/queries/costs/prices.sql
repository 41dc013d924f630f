-- prices: the lines of the rate cards that are in force at some instant of [$start_at, $end_at), each card's in its order
select
  card,
  position,
  cluster_glob,
  pool_glob,
  model_glob,
  coalesce(profile_glob, '*') as profile_glob,
  measure,
  coalesce(unit, measure) as unit,
  price,
  currency,
  epoch_ms(start_at) as since_ms,
  epoch_ms(end_at) as until_ms,
  coalesce(author, '') as author
from rates
where start_at < $end_at and (end_at is null or end_at > $start_at)
order by card, start_at, position, measure, rate_id
