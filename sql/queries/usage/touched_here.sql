-- touched spans of nodes, devices, authority, quotas, demand, rules and thresholds: their own; where intervals from labels end
-- where the next begins, what a node or a device is may move such an end, and so change all that follows
insert into touched
select
  from_ms,
  case
    when
      $may_move_labels and exists (
        select 1 from allocations_versions as a
        where a.cluster = $cluster and a.source = 'labels'
      ) then $forever
    else until_ms
  end as until_ms
from touched_spans
