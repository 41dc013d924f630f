-- computed_now: after a look for findings: when each of some workloads was seen to compute last: of what is rolled up the hour's
-- start
select
  workload_id,
  max(at_ms)::bigint as at_ms
from (
  select
    workload_id,
    epoch_ms(max(row_start_at)) as at_ms
  from usage_hourly
  where
    cluster = $cluster and list_contains($workloads::bigint[], workload_id) and computing_pms > 0
    and row_start_at >= make_timestamptz($since_ms::bigint * 1000)
  group by workload_id
  union all
  select
    a.workload_id,
    max(s.e) as at_ms
  from stretches as s
  inner join pieces as p on s.q = p.q
  inner join told_allocations as a on p.c = a.c and p.a = a.a
  where s.busy and list_contains($workloads::bigint[], a.workload_id)
  group by a.workload_id
) as seen
group by workload_id
