-- known_label_refs: of the label sets that a collector tells, those that the ledger has already
select distinct
  known.cluster,
  known.label_ref
from lake.label_refs as known
semi join told on known.cluster = told.cluster and known.label_ref = told.label_ref
