-- is_empty: whether there is neither usage nor a line of cost on the period's days
select
  not exists (
    select 1 from usage_daily
    where business_day >= $start_day and business_day < $end_day
  )
  and not exists (
    select 1 from charges
    where business_day >= $start_day and business_day < $end_day
  ) as is_empty
