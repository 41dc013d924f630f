-- lost: the allocations of workloads that were stopped for an owner who asked for its guarantee, and when: those that were bound
-- before the stop was meant and had not ended.
with
done as (
  select distinct
    cluster,
    intent
  from deeds
  where phase = 'outcome' and result = 'done'
),

undone as (
  select distinct
    cluster,
    intent
  from deeds
  where phase = 'outcome' and result = 'undone'
)

select
  a.cluster,
  a.allocation_id,
  min(i.told_at) as stopped_at
from deeds as i
inner join done as e on i.cluster = e.cluster and i.row_hash = e.intent
inner join workloads as w on i.cluster = w.cluster and i.object_uid = w.uid
inner join allocations as a on w.cluster = a.cluster and w.workload_id = a.workload_id
where
  i.phase = 'intent' and i.act = 'stop' and i.cause = $cause
  and a.start_at <= i.told_at
  and (a.end_at is null or a.end_at > i.told_at - interval 5 second) -- two clocks
  and not exists (
    select 1 from undone as u
    where i.cluster = u.cluster and i.row_hash = u.intent
  )
group by a.cluster, a.allocation_id
