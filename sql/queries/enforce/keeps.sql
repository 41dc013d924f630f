-- keeps: until when people asked for workloads to be kept, what is over left out
select
  subject as uid,
  max(epoch_ms(until)) as until_ms
from requests
where cluster = $cluster and kind = 'keep' and epoch_ms(until) > $at_ms
group by subject
order by subject
