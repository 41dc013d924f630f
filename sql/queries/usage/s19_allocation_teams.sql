-- allocation_teams: the team of each allocation while the rules stand
create or replace temp table allocation_teams as
select a.c, a.a, t.ruled_since, t.team
from told_allocations as a
inner join asked_spans as x on a.c = x.c and a.s < x.until_ms and x.from_ms < a.e
inner join teams_then as t
  on a.c = t.c and a.namespace = t.namespace and a.labels = t.labels and a.user_patterns = t.user_patterns
