-- known_allocations: the last version of each allocation that a collector tells, ended ones too; and whether its node has been
-- shared otherwise since: then what its requests were worth is what was told first
with
concerned as (
  select known.*
  from lake.allocations_versions as known
  semi join told on known.cluster = told.cluster and known.allocation_id = told.allocation_id
  qualify
    row_number() over (
      partition by known.cluster, known.allocation_id
      order by known.revision desc, known.recorded_at desc
    ) = 1
),

shares as (
  select
    c.cluster,
    c.allocation_id,
    count(distinct n.replicas) > 1 as shared_otherwise
  from concerned as c
  inner join lake.nodes as n
    on
      c.cluster = n.cluster
      and c.node = n.node
      and (n.end_at is null or n.end_at > c.start_at)
  group by c.cluster, c.allocation_id
)

select
  c.* exclude (recorded_at) replace (
    epoch_ms(c.start_at) as start_at,
    epoch_ms(c.started_at) as started_at,
    epoch_ms(c.end_at) as end_at,
    epoch_ms(c.sure_start_at) as sure_start_at,
    epoch_ms(c.sure_end_at) as sure_end_at
  ),
  coalesce(s.shared_otherwise, false) as shared_otherwise
from concerned as c
left join shares as s on c.cluster = s.cluster and c.allocation_id = s.allocation_id
