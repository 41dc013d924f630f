-- kinds: the kinds of workloads that there are
select distinct coalesce(kind, '') as kind
from workloads
where cluster = $cluster
union
select ''
