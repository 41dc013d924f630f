-- authors: who set the cards and prices that hold in the period
select distinct author
from (
  select
    author,
    start_at,
    end_at
  from cards
  union all
  select
    author,
    start_at,
    end_at
  from rates
) as priced
where start_at < $end_at and (end_at is null or end_at > $start_at)
order by author
