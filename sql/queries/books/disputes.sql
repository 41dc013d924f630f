-- disputes: each dispute as it stands, the oldest first
select
  dispute_id,
  revision,
  charge_id,
  cluster,
  business_day,
  team,
  amount,
  currency,
  state,
  words,
  credited,
  credit_id,
  epoch_ms(raised_at) as raised_ms,
  actor
from disputes
order by raised_at, dispute_id
