-- periods: the state that each period is in: its last revision
select *
from periods_versions
qualify row_number() over (partition by period order by revision desc, recorded_at desc, state desc, actor desc) = 1
