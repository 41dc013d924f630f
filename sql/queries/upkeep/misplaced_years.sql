-- how many files have their year where the month belongs: DuckLake puts both there when it takes up a file that it did not write
select count(*) as n
from __ducklake_metadata_lake.ducklake_file_partition_value
where partition_key_index = 2 and length(partition_value) = 4
