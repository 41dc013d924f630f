-- borrowed: how much of what each team borrowed in a pool still counts, in parts, halved with every half-life
with
aged as (
  select
    team,
    pool,
    borrowed_pms,
    $at_ms::bigint - (epoch_ms(row_start_at) + epoch_ms(row_end_at)) // 2 as age_ms
  from quota_hourly
  where
    cluster = $cluster
    and borrowed_pms > 0
    and row_start_at >= make_timestamptz(($at_ms::bigint - $forgotten::bigint * $half_life_ms::bigint) * 1000)
    and row_end_at <= make_timestamptz($at_ms::bigint * 1000)
    and row_start_at < row_end_at
),

-- 2^-n at whole half-lives and a straight line between, on a scale of 2^32
halved as (
  select
    team,
    pool,
    borrowed_pms,
    (4294967296::bigint >> (age_ms // $half_life_ms::bigint)::int)::hugeint as whole,
    age_ms % $half_life_ms::bigint as rest_ms
  from aged
),

weighed as (
  select
    team,
    pool,
    sum(borrowed_pms::hugeint * (whole - whole * rest_ms // (2 * $half_life_ms::bigint))) as weighed_pms
  from halved
  group by team, pool
)

-- The weights of all the past add up to 1.5 half-lives: three quarters of one, and half of that before it, …
select
  team,
  pool,
  (
    weighed_pms * 2 * $counts_permille::bigint // (3 * $half_life_ms::hugeint * 4294967296 * 1000)
  )::bigint as parts
from weighed
order by pool, team
