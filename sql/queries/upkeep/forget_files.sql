-- the catalog's lines of files that have been removed
delete from __ducklake_metadata_lake.ducklake_files_scheduled_for_deletion
where data_file_id in (select unnest($ids))
