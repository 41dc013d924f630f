-- promises: what was promised in the span, while it stood
with
told as (
  select
    *,
    least(
      coalesce(epoch_ms(end_at), $forever::bigint),
      lead(epoch_ms(start_at), 1, $forever::bigint) over (partition by quota_id order by start_at)
    ) as end_ms
  from quotas
  where cluster = $cluster
)

select
  epoch_ms(start_at) as start_ms,
  end_ms,
  team,
  pool,
  guaranteed_parts,
  limit_parts,
  coalesce(weight, 1) as weight,
  kind,
  coalesce(source_object, '') as source_object
from told
where epoch_ms(start_at) <= $until_ms and end_ms > $from_ms
order by quota_id, start_ms
