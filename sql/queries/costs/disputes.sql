-- disputes: the disputes of $teams (null: of all) about lines of the days from $first_day to $last_day, the newest first
select
  dispute_id,
  charge_id,
  business_day,
  team,
  amount,
  currency,
  state,
  words,
  credited,
  epoch_ms(raised_at) as raised_ms
from disputes
where business_day between $first_day and $last_day and ($teams is null or list_contains($teams, team))
order by raised_at desc, dispute_id
