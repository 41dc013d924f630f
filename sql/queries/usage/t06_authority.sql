-- believed: who is believed about holders, span by span; the lowest rank wins
create or replace temp table believed as
with
told as (
  select
    c.c,
    a.source,
    a.rank,
    epoch_ms(a.start_at) as s,
    least(
      coalesce(epoch_ms(a.end_at), $forever),
      lead(epoch_ms(a.start_at), 1, $forever) over (partition by c.c, a.authority_id order by a.start_at)
    ) as e
  from authority as a
  inner join asked_clusters as c on a.cluster = c.cluster
  where a.kind = 'holders'
),

bounds as (
  select c, s as t from told
  union
  select c, e as t from told
),

spans as (
  select c, t as s, lead(t) over (partition by c order by t) as e
  from bounds
)

select
  x.c,
  x.s,
  x.e,
  arg_min(a.source, (a.rank, a.source)) as source
from spans as x
inner join told as a on x.c = a.c and a.s <= x.s and x.e <= a.e
group by x.c, x.s, x.e
