-- held_parts: the parts that each allocation holds, over all its devices; of a device told more than once the most
with by_device as (
  select
    cluster,
    allocation_id,
    device_id,
    max(parts) as parts
  from holdings
  group by cluster, allocation_id, device_id
)

select
  cluster,
  allocation_id,
  sum(parts)::bigint as parts
from by_device
group by cluster, allocation_id
