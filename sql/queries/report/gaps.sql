-- gaps: the commonest reasons for spans in which telemetry or holders were not observed, between $start_at and $end_at
select
  covers,
  reason,
  count(distinct node) as nodes,
  count(*) as gaps
from gaps
where start_at < $end_at and coalesce(end_at, $end_at) > $start_at
group by all
order by gaps desc, covers, reason
limit 3
