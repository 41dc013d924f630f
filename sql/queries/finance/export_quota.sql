-- export_quota: promises and what became of them, in the hours of some business days, as the stable view has them
select q.*
from reporting.quota_by_hour as q
where q.start_at >= make_timestamptz($start_ms * 1000) and q.start_at < make_timestamptz($end_ms * 1000)
order by q.start_at, q.cluster, q.pool, q.team
