-- preemptible: the allocations that may be preempted
select
  cluster,
  allocation_id
from allocations
where preemptible
