-- audit_clusters: the clusters that have, or had, an audit
select cluster
from deeds
where cluster is not null
union
select cluster
from deed_heads
order by cluster
