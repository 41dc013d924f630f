-- the ledger's tables
select table_name
from duckdb_tables()
where database_name = 'lake'
order by table_name
