-- usage_rows: usage_hourly of the asked spans: what was laid out, and quiet devices hour by hour
create or replace temp view usage_rows as
with
row_spans as (
  select distinct c, row_s, row_e
  from eras
),

quiet_rows as (
  select
    k.cluster,
    r.row_s,
    r.row_e,
    q.pool,
    q.model,
    q.node,
    q.device_id,
    q.available,
    q.seen,
    q.parts * (least(q.e, r.row_e) - greatest(q.s, r.row_s)) as pms
  from quiet as q
  inner join row_spans as r on q.c = r.c and q.s < r.row_e and r.row_s < q.e
  inner join asked_clusters as k on q.c = k.c
  where q.parts > 0
)

select * from laid_rows
union all
select
  cluster,
  row_s as row_start_at,
  row_e as row_end_at,
  pool,
  model,
  node,
  device_id,
  null::bigint as allocation_id,
  null::bigint as workload_id,
  null::varchar as team,
  pms as capacity_pms,
  0 as held_pms,
  0 as computing_pms,
  0 as idle_pms,
  0 as unknown_pms,
  case when available and seen then pms else 0 end as unallocated_pms,
  case when not available then pms else 0 end as unavailable_pms,
  case when available and not seen then pms else 0 end as unobserved_pms,
  0 as idle_confirmed_pms,
  0 as stalled_pms,
  0 as faulted_pms,
  0 as not_started_pms,
  0 as borrowed_pms,
  0 as estimated_pms,
  0 as overbooked_pms,
  0 as energy_j,
  0 as energy_known_pms,
  0 as activity_permille_pms,
  null::integer as activity_peak_permille,
  null::integer as power_peak_dw,
  null::integer as fb_used_peak_mib
from quiet_rows
