-- how much energy each team's workloads took, and for how much of the time it is known; with a price its cost
-- param: from date, optional, the first day
-- param: to date, optional, the last day
-- param: team varchar, optional, the team; all without it
-- param: price_per_kwh decimal, optional, the price of a kilowatt-hour
select
  team,
  round(sum(energy_kwh), 3) as energy_kwh,
  round(1000.0 * sum(energy_kwh) / nullif(sum(energy_known_gpu_h), 0), 1) as mean_w_per_gpu,
  round(100.0 * sum(energy_known_gpu_h) / nullif(sum(capacity_gpu_h), 0), 1) as known_percent,
  (sum(energy_kwh) * $price_per_kwh)::decimal(38, 2) as energy_cost
from reporting.usage_by_day
where
  ($from is null or day >= $from)
  and ($to is null or day <= $to)
  and ($team is null or team = $team)
group by team
order by energy_kwh desc, team
