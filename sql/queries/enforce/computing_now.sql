-- computing_now: after a look for findings: the pools in which telemetry shows some device to compute
select distinct p.pool
from stretches as s
inner join pieces as p on s.q = p.q
where s.busy
