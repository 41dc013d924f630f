-- clusters: those that are measured, planned for or acted on
select cluster
from rollup_marks
union
select cluster
from plans
union
select cluster
from deeds
order by cluster
