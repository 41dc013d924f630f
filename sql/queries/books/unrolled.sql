-- unrolled: of the given clusters ($clusters) that had nodes before $until_ms, those whose usage is not written until then
select
  c.cluster,
  epoch_ms(max(m.rolled_until_at)) as until_ms
from (select unnest($clusters::varchar[]) as cluster) as c
semi join nodes as n on c.cluster = n.cluster and epoch_ms(n.start_at) < $until_ms
left join rollup_marks as m on c.cluster = m.cluster
group by c.cluster
having coalesce(max(epoch_ms(m.rolled_until_at)), 0) < $until_ms
order by c.cluster
