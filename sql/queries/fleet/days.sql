-- days: the business days of which the ledger has usage, newest first
select distinct business_day as day
from usage_daily
where $teams is null or list_contains($teams::varchar[], team)
order by day desc
