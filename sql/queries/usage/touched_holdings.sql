-- touched spans of holdings: the whole of their allocation when another device is named or one is named no more, else what lies
-- between the old end and the new; and all that follows for an interval from labels
insert into touched
with
claims as (
  select
    h.holding_id,
    bool_or(a.source = 'labels') as by_label,
    min(epoch_ms(a.start_at)) as s,
    max(coalesce(epoch_ms(a.end_at), $forever)) as e
  from holdings_versions as h
  inner join allocations_versions as a on h.cluster = a.cluster and h.allocation_id = a.allocation_id
  where h.cluster = $cluster and h.holding_id in (select entity from touched_spans)
  group by h.holding_id
)

select
  case when t.changed or t.from_ms <= c.s then least(t.from_ms, c.s) else t.from_ms end as from_ms,
  case when c.by_label then $forever when t.changed or t.from_ms <= c.s then greatest(t.until_ms, c.e) else t.until_ms end
    as until_ms
from touched_spans as t
inner join claims as c on t.entity = c.holding_id
