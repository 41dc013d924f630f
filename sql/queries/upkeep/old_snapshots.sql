-- the oldest snapshots that may be forgotten: old enough, and before the last that any roll-up has read
with
marks as (
  select arg_max(snapshot_id, recorded_at) as snapshot_id
  from rollup_marks
  group by cluster
),

bounds as (
  select
    max(snapshot_id) as newest_id,
    coalesce((select min(snapshot_id) from marks), 9000000000000000) as marked_id
  from __ducklake_metadata_lake.ducklake_snapshot
)

select s.snapshot_id
from __ducklake_metadata_lake.ducklake_snapshot as s
cross join bounds as b
where
  epoch_us(s.snapshot_time::timestamptz) < $until_us
  and s.snapshot_id < b.newest_id
  and s.snapshot_id < b.marked_id
order by s.snapshot_id asc
limit $at_most
