-- why sources were not observed, and for how long; an open gap counts until now
-- param: cluster varchar, optional, the cluster; all without it
select
  cluster,
  source,
  covers,
  reason,
  count(*) as gaps,
  round(sum(epoch(coalesce(until_at, now()) - since_at)) / 3600, 2) as hours,
  count(*) filter (where until_at is null) as still_open
from reporting.gaps
where $cluster is null or cluster = $cluster
group by cluster, source, covers, reason
order by hours desc, cluster, source, reason
