-- booking_revision: how often the booking was told, 0 for one that is new
select coalesce(max(revision) + 1, 0) as revision
from quotas_versions
where cluster = $cluster and quota_id = $quota_id
