-- versions that end before they start
select
  'nodes_versions' as table_name,
  cluster,
  node as id,
  start_at,
  end_at
from nodes_versions
where end_at < start_at
union all
select
  'devices_versions' as table_name,
  cluster,
  device_id::varchar as id,
  start_at,
  end_at
from devices_versions
where end_at < start_at
union all
select
  'allocations_versions' as table_name,
  cluster,
  allocation_id::varchar as id,
  start_at,
  end_at
from allocations_versions
where end_at < start_at
union all
select
  'holdings_versions' as table_name,
  cluster,
  holding_id::varchar as id,
  start_at,
  end_at
from holdings_versions
where end_at < start_at
union all
select
  'gaps_versions' as table_name,
  cluster,
  gap_id::varchar as id,
  start_at,
  end_at
from gaps_versions
where end_at < start_at
