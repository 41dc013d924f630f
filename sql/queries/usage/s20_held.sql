-- held_by_team: the held pieces with their team, in the order in which a team's guarantee covers them
create or replace temp table held_by_team as
select
  p.q,
  p.c,
  p.pool,
  t.team,
  p.s,
  p.e,
  p.parts,
  p.row_s,
  p.row_e,
  p.row_s // $hour_ms as hour,
  row_number() over (
    order by a.preemptible, a.s, p.a, p.node, p.device_index, p.device_id, p.named desc
  ) as turn
from pieces as p
inner join told_allocations as a on p.c = a.c and p.a = a.a
inner join allocation_teams as t on p.c = t.c and p.a = t.a and p.ruled_since = t.ruled_since
