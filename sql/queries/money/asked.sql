-- asked: what the pods with GPUs ask for beside them
select
  cluster,
  allocation_id,
  start_at,
  coalesce(end_at, 'infinity'::timestamptz) as end_at,
  coalesce(cpu_milli, 0) as cpu_milli,
  coalesce(memory_mib, 0) as memory_mib
from allocations
where (cpu_milli > 0 or memory_mib > 0)
