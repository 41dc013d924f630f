-- changed_days: of the given business days, those whose lines in new_lines are not those in charges
with
old_lines as (
  select * exclude (recorded_at)
  from charges
  where business_day in (select business_day from business_days) and kind <> 'correction'
),

differing as (
  (
    select * from new_lines
    except all
    select * from old_lines
  )
  union all
  (
    select * from old_lines
    except all
    select * from new_lines
  )
)

select distinct business_day
from differing
order by business_day
