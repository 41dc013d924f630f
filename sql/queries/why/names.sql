-- names: every name that a number may be asked for by: teams, pods, GPUs; `short` is how people say it
with
pods as (
  select distinct cluster, coalesce(namespace, '') as namespace, pod
  from allocations
  where pod is not null
),

gpus as (
  select distinct cluster, gpu_uuid, node || '/' || device_index as place
  from devices
)

select 'team' as kind, '' as cluster, team as name, team as short, team as id
from usage_daily
where team is not null
group by team
union all
select 'pod' as kind, cluster, namespace || '/' || pod as name, pod as short, namespace || '/' || pod as id
from pods
union all
select 'gpu' as kind, cluster, gpu_uuid as name, place as short, gpu_uuid as id
from gpus
order by kind, cluster, name
