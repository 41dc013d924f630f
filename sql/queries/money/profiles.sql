-- profiles: the MIG instances for which a price names their profile; profile_globs(profile_glob) is given
select
  d.cluster,
  d.device_id,
  max(d.profile) as profile
from devices as d
inner join profile_globs as g on d.profile glob g.profile_glob
where coalesce(d.profile, '') <> ''
group by d.cluster, d.device_id
