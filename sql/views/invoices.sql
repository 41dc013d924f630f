-- invoices: the lines of each invoice as it was last imported; one that was withdrawn has none
select *
from invoices_versions
qualify
  revision = max(revision) over (partition by period, invoice)
  and business_day is not null
