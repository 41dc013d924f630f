-- what each team is promised at this moment, in GPUs, with bookings added and offers taken off
-- param: team varchar, optional, the team; all without it
-- param: pool varchar, optional, the pool; all without it
select
  cluster,
  pool,
  team,
  sum(case when kind = 'offer' then -guaranteed_gpus else guaranteed_gpus end) as guaranteed_gpus,
  max(limit_gpus) as limit_gpus,
  count(*) filter (where kind != 'promise') as bookings_and_offers
from reporting.guarantees
where
  (until_at is null or until_at > now())
  and since_at <= now()
  and ($team is null or team = $team)
  and ($pool is null or pool = $pool)
group by cluster, pool, team
order by cluster, pool, team
