-- source_numbers: each telemetry source's bit in a piece's silence
create or replace temp table source_numbers as
select source, (row_number() over (order by source) - 1)::integer as number
from (select distinct source from told_series) as x
