-- told_later: whether anybody has told of something later already: a row where somebody has
select count(*) as marks
from watermarks
where cluster = $cluster and covers = $covers and complete_until_at > make_timestamptz($until_ms::bigint * 1000)
having count(*) > 0
