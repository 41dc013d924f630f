-- told_quotas: each promise while it stands; one that ends in a quota gap of its source stands until the gap ends
create or replace temp table told_quotas as
with
told_gaps as (
  select
    c.c,
    g.source,
    epoch_ms(g.start_at) as s,
    coalesce(epoch_ms(g.end_at), $forever) as e
  from gaps as g
  inner join asked_clusters as c on g.cluster = c.cluster
  where g.covers = 'quota'
),

begins as (
  select
    *,
    s > max(e) over (partition by c, source order by s, e rows between unbounded preceding and 1 preceding) as apart
  from told_gaps
),

numbered as (
  select *, count(*) filter (where apart) over (partition by c, source order by s, e rows unbounded preceding) as run
  from begins
),

merged as (
  select c, source, min(s) as s, max(e) as e
  from numbered
  group by c, source, run
),

told as (
  select
    c.c,
    q.quota_id,
    q.source,
    q.pool,
    q.team,
    case q.kind when 'offer' then -q.guaranteed_parts else q.guaranteed_parts end as parts,
    epoch_ms(q.start_at) as s,
    coalesce(epoch_ms(q.end_at), $forever) as e,
    lead(epoch_ms(q.start_at), 1, $forever) over (partition by c.c, q.quota_id order by q.start_at) as next_s
  from quotas as q
  inner join asked_clusters as c on q.cluster = c.cluster
)

select
  q.c,
  q.pool,
  q.team,
  q.parts,
  q.s,
  least(greatest(q.e, coalesce(g.e, q.e)), q.next_s) as e
from told as q
left join merged as g on q.c = g.c and q.source = g.source and g.s <= q.e and q.e < g.e
