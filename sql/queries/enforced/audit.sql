-- audit: whether the numbers of a cluster's chain have no hole, each row names the one before it, and the last is the noted head
with
told as (
  select
    number,
    row_hash,
    told_at,
    (number = 1 or previous_hash = lag(row_hash) over (order by number)) as follows
  from deeds
  where cluster = $cluster
),

head as (
  select
    max(number) as number,
    arg_max(row_hash, number) as row_hash
  from deed_heads
  where cluster = $cluster
)

select
  count(t.number) as rows,
  coalesce(max(t.number), 0) as last,
  count(t.number) filter (where not coalesce(t.follows, false)) as unlinked,
  epoch_ms(max(t.told_at)) as last_ms,
  coalesce(any_value(h.number), 0) as head,
  coalesce(any_value(h.row_hash), '') as head_hash,
  coalesce(arg_max(t.row_hash, t.number), '') as last_hash
from head as h
left join told as t on true
