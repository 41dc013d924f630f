-- charge lines that name a rate, a workload or a corrected line which the ledger does not know
select
  c.cluster,
  c.business_day,
  c.charge_id,
  c.rate_id,
  c.workload_id,
  c.corrects
from charges as c
left join (select distinct rate_id from rates) as r on c.rate_id = r.rate_id
left join (select distinct cluster, workload_id from workloads_versions) as w
  on c.cluster = w.cluster and c.workload_id = w.workload_id
left join (
  select charge_id from charges
  union
  select line_id from corrections
) as o on c.corrects = o.charge_id
where
  (c.rate_id is not null and r.rate_id is null)
  or (c.workload_id is not null and w.workload_id is null)
  or (c.corrects is not null and o.charge_id is null)
