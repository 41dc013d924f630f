-- last_epoch: the highest epoch of the lease that any deed of the cluster has
select coalesce(max(epoch), 0)::bigint as epoch
from deeds
where cluster = $cluster
