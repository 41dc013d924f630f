-- audit_next: the lowest number of a cluster's rows above this one
select min(number) as next
from deeds
where cluster = $cluster and number > $last
