-- past_usage: what each team held, and of it idle, in each of the spans that begin on the days of $begins (number 0: the last)
select
  len(list_filter($begins, lambda day: day > business_day)) as number,
  team,
  sum(held_pms) as held,
  sum(idle_pms) as idle
from usage_daily
where business_day between $begins[1] and $last_day and team <> ''
group by all
