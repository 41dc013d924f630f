-- the years of such files, put before the months (tables are parted by cluster, year and month, or by cluster alone)
update __ducklake_metadata_lake.ducklake_file_partition_value
set partition_key_index = 1
where partition_key_index = 2 and length(partition_value) = 4
