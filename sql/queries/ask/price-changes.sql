-- each price beside the one before it: when it changed, by how much, and by whom
-- param: card varchar, optional, the rate card; all without it
with told as (
  select
    *,
    lag(price) over (partition by card, clusters, pools, models, profiles, purchase, measure, currency order by since_at, version) as before
  from reporting.prices
  where $card is null or card = $card
)

select
  card,
  clusters,
  pools,
  models,
  profiles,
  purchase,
  measure,
  since_at,
  before,
  price,
  currency,
  round(100.0 * (price - before) / nullif(before, 0), 1) as change_percent,
  author
from told
where before is null or before != price
order by since_at, card, models, profiles, pools, clusters, measure, version
