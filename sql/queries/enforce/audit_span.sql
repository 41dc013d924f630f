-- audit_span: how many rows a cluster's chain has, and their numbers
select
  count(*) as rows,
  min(number) as first,
  max(number) as last,
  count(*) filter (where number is null) as unnumbered
from deeds
where cluster = $cluster
