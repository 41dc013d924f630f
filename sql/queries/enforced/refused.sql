-- refused: what the guard did not let through in a span, by its reason
select
  coalesce(result, '') as reason,
  count(*) as times,
  epoch_ms(max(told_at)) as last_ms
from deeds
where
  cluster = $cluster
  and phase = 'refused'
  and told_at >= make_timestamptz($from_ms::bigint * 1000)
  and ($teams is null or list_contains($teams::varchar[], team))
group by result
order by times desc, reason
