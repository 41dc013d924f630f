-- believed: who was believed about holders in [from_ms, until_ms), span by span; the lowest rank wins
with
told as (
  select
    source,
    rank,
    greatest(epoch_ms(start_at), $from_ms) as s,
    least(coalesce(epoch_ms(end_at), $until_ms), $until_ms) as e
  from authority
  where cluster = $cluster and kind = 'holders' and epoch_ms(start_at) < $until_ms
),

bounds as (
  select s as t from told
  union
  select e as t from told
),

spans as (
  select t as s, lead(t) over (order by t) as e
  from bounds
),

winners as (
  select
    x.s,
    x.e,
    arg_min(a.source, (a.rank, a.source)) as source,
    min(a.rank) as rank
  from spans as x
  inner join told as a on a.s <= x.s and x.e <= a.e
  group by x.s, x.e
),

marked as (
  select *, coalesce(source <> lag(source) over (order by s) or s <> lag(e) over (order by s), true) as new
  from winners
),

runs as (
  select *, sum(new::integer) over (order by s rows unbounded preceding) as run
  from marked
)

select
  any_value(source) as source,
  min(rank) as rank,
  min(s) as start_ms,
  max(e) as end_ms
from runs
group by run
order by start_ms
