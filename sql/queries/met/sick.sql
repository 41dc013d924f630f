-- sick: of each node how many GPUs its allocatable lacks, which is all that the API tells, and since when it is so many
select
  node,
  count(*) filter (where end_at is null) as sick,
  epoch_ms(max(coalesce(end_at, start_at))) as changed_ms
from devices
where cluster = $cluster and evidence = 'assumed' and not healthy
group by node
order by node
