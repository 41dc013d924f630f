-- the smallest and the largest name and contact that the table ever had, which DuckLake widens and never narrows: as wide as
-- can be, they stay true whoever comes, and name nobody. (Without any value, the next insert would set its own, too narrow.)
update __ducklake_metadata_lake.ducklake_table_column_stats
set
  min_value = '',
  max_value = chr(1114111)
where
  max_value <> chr(1114111)
  and exists (
    select 1
    from __ducklake_metadata_lake.ducklake_column as c
    inner join __ducklake_metadata_lake.ducklake_table as t on c.table_id = t.table_id
    where
      t.table_name = 'people'
      and c.column_type = 'varchar'
      and c.table_id = ducklake_table_column_stats.table_id
      and c.column_id = ducklake_table_column_stats.column_id
  )
