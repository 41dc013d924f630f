-- owed_in: what each team owes of charges_in, the most first
select
  team,
  sum(amount) as amount,
  list(distinct charged_in order by charged_in) as charged_in
from charges_in
where account = 'team'
group by team
order by amount desc, team
