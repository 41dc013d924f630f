-- files that no snapshot names any more, and whose grace is over
select
  data_file_id,
  path
from __ducklake_metadata_lake.ducklake_files_scheduled_for_deletion
where epoch_us(schedule_start::timestamptz) < $until_us
order by data_file_id
limit $at_most
