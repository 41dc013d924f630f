-- node_gaps: spans in which a source did not see a node, merged; a gap without a node is that of its target's nodes,
-- one without either is the whole cluster's
create or replace temp table node_gaps as
with
told as (
  select
    c.c,
    g.covers,
    g.source,
    coalesce(g.node, '') as node,
    coalesce(g.target, '') as target,
    epoch_ms(g.start_at) as s,
    coalesce(epoch_ms(g.end_at), $forever) as e
  from gaps as g
  inner join asked_clusters as c on g.cluster = c.cluster
  where g.covers in ('telemetry', 'holders')
),

by_node as (
  select c, covers, source, node, s, e
  from told
  where node <> ''
  union all by name
  select distinct t.c, t.covers, t.source, x.node, t.s, t.e
  from told as t
  inner join told_series as x on t.c = x.c and t.source = x.source and t.target = x.target
  where t.node = '' and t.target <> '' and t.covers = 'telemetry'
  union all by name
  select distinct t.c, t.covers, t.source, n.node, t.s, t.e
  from told as t
  inner join told_nodes as n on t.c = n.c
  where t.node = '' and (t.target = '' or t.covers = 'holders')
),

begins as (
  select
    *,
    s > max(e) over (partition by c, covers, source, node order by s, e rows between unbounded preceding and 1 preceding)
      as apart
  from by_node
),

numbered as (
  select
    *,
    count(*) filter (where apart) over (
      partition by c, covers, source, node order by s, e rows unbounded preceding
    ) as run
  from begins
)

select
  c,
  covers,
  source,
  node,
  min(s) as s,
  max(e) as e
from numbered
group by c, covers, source, node, run
