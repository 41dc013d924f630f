-- settings of PostgreSQL under which an acknowledged commit can be lost
select
  name::text,
  setting::text
from pg_settings
where name in ('fsync', 'synchronous_commit', 'full_page_writes') and setting = 'off'
