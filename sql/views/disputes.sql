-- disputes: the state that each dispute is in: its last revision
select *
from disputes_versions
qualify row_number() over (partition by dispute_id order by revision desc, recorded_at desc, state desc, actor desc) = 1
