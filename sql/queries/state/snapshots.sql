-- how many snapshots there are, the first and the last, and the files that wait to be removed
with
newest as (
  select max(snapshot_id) as snapshot_id
  from __ducklake_metadata_lake.ducklake_snapshot
),

bounds as (
  select
    count(*) as snapshots,
    min(snapshot_time::timestamptz) as first_at,
    max(snapshot_time::timestamptz) as last_at
  from __ducklake_metadata_lake.ducklake_snapshot
),

authors as (
  select c.author
  from __ducklake_metadata_lake.ducklake_snapshot_changes as c
  inner join newest as n on c.snapshot_id = n.snapshot_id
),

due as (
  select count(*) as files
  from __ducklake_metadata_lake.ducklake_files_scheduled_for_deletion
)

select
  b.snapshots,
  b.first_at,
  b.last_at,
  a.author,
  d.files
from bounds as b
cross join due as d
left join authors as a on true
