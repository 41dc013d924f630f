-- every file that the catalog names, or will forget
select path
from __ducklake_metadata_lake.ducklake_data_file
union all
select path
from __ducklake_metadata_lake.ducklake_delete_file
union all
select path
from __ducklake_metadata_lake.ducklake_files_scheduled_for_deletion
