-- deeds whose numbers are not dense and unique in their cluster, from 1 to the head that is noted beside them
with
numbered as (
  select
    cluster,
    number,
    row_hash,
    lag(number, 1, 0) over (partition by cluster order by number) as before
  from deeds
),

heads as (
  select
    h.cluster,
    h.number,
    h.row_hash,
    coalesce(max(d.number), 0) as before
  from deed_heads as h
  left join deeds as d on h.cluster = d.cluster
  group by h.cluster, h.number, h.row_hash
)

select
  cluster,
  number,
  row_hash,
  before
from numbered
where number is distinct from before + 1
union all
select
  cluster,
  number,
  row_hash,
  before
from heads
where number is distinct from before
