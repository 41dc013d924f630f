-- system_workloads: the workloads of the namespaces that serve everybody, by card; system_globs(card, namespace_glob) is given
select distinct
  g.card,
  w.cluster,
  w.workload_id
from workloads as w
inner join system_globs as g on w.namespace glob g.namespace_glob
