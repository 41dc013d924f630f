-- known_workloads: of the workloads that a collector tells, those that the ledger has already
select distinct
  known.cluster,
  known.workload_id
from lake.workloads_versions as known
semi join told on known.cluster = told.cluster and known.workload_id = told.workload_id
