-- density: how many devices a cluster has had, and how many samples came of [from_at, until_at)
select
  (
    select count(distinct device_id)
    from devices_versions
    where cluster = $cluster
  ) as devices,
  (
    select count(*)
    from samples
    where cluster = $cluster and sampled_at >= $from_at and sampled_at < $until_at
  ) as samples
