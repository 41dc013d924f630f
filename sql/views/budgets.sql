-- budgets: the last version of each (highest revision, then the latest recorded, then by content); withdrawn ones are left out
select *
from budgets_versions
qualify
  row_number() over (
    partition by budget_id, start_at
    order by
      revision desc, recorded_at desc,
      team desc, period desc, end_at desc, amount desc, currency desc, alerts desc
  ) = 1
  and (end_at is null or end_at > start_at)
