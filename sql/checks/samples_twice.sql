-- samples of one series at one millisecond that are there more than once, in each cluster's newest two days
with
newest as (
  select
    cluster,
    max(sampled_at) as sampled_at
  from samples
  group by all
)

select
  s.cluster,
  s.series_id,
  s.sampled_at,
  s.source,
  count(*) as samples
from samples as s
inner join newest as n on s.cluster = n.cluster and s.sampled_at > n.sampled_at - interval 2 day
group by all
having count(*) > 1
