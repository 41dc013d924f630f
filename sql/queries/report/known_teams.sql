-- known_teams: the teams with usage from $first_day to $last_day
select distinct team
from usage_daily
where business_day between $first_day and $last_day and team <> ''
order by team
