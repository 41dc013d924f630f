-- why sources were not observed, and for how long; an open gap counts until now
select
  cluster,
  source,
  covers,
  reason,
  count(*) as gaps,
  round(sum(epoch(coalesce(end_at, now()) - start_at)) / 3600, 2) as hours,
  count(*) filter (where end_at is null) as still_open
from gaps
group by cluster, source, covers, reason
order by hours desc, cluster, source, reason
